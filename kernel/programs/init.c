/* SPDX-License-Identifier: MIT
 *
 * init: process 1 of a test run.
 *
 * It runs the commands that it is given, one after the other, prints each one's exit status, and
 * ends with `verdicts: N passed, M failed`; its own exit status is 0 only if every command exited
 * with 0. Commands come from the kernel command line after `--` (words; a colon separates a program
 * from its arguments: `mux_ten:7`), or else from the file /etc/run (one command per line, words
 * separated by blanks). A program without a slash is /bin/PROGRAM. The command `dump FILE` sends a
 * file of the guest to the console (dump.h). A program that runs longer than RUN_NS_MAX is killed
 * and has failed.
 *
 * The end of the run: on our kernel process 1 exits, and the kernel prints `tally-exit: STATUS` and
 * powers off. On Linux that would be a panic, so there init prints the line itself and calls
 * reboot. It tells them apart by uname(2): our kernel has "tally" in its version; one without uname
 * is ours.
 *
 * System calls: clone execve wait4 kill nanosleep write exit_group; openat read close only for
 * /etc/run and dump; uname, and reboot on Linux.
 */
#include "bytes.h"
#include "dump.h"
#include "print.h"
#include "syscall.h"
#include "task.h"
#include "verdict.h"

#define WORDS_MAX     16u
#define COMMANDS_MAX  64u
#define RUN_BYTES_MAX 8192u
#define RUN_NS_MAX    20000000000ul
#define SLEEP_NS_MAX  128000000ul

struct command {
	const char *words[WORDS_MAX + 1];
	unsigned count;
};

struct utsname {
	char sysname[65], nodename[65], release[65], version[65], machine[65], domainname[65];
};

static bool is_separator(char c, const char *separators)
{
	return c && text_contains(separators, (char[]){c, 0});
}

/* Splits `text` in place; words beyond the limit are a fault of the run's author. */
static struct command split(char *text, const char *separators)
{
	struct command command = {0};

	while (*text) {
		while (is_separator(*text, separators))
			*text++ = 0;
		if (!*text)
			break;
		REQUIRE(command.count < WORDS_MAX, "more than %u words", WORDS_MAX);
		command.words[command.count++] = text;
		while (*text && !is_separator(*text, separators))
			text++;
	}
	return command;
}

/* The program's wait status; one that takes longer than RUN_NS_MAX is killed. */
static int wait_for(const char *name, int pid)
{
	uint64_t start_ns = clock_now_ns(), sleep_ns = 1000000;
	bool killed = false;
	int status = 0;

	/* Sleeps that grow, so that a measuring program is left alone. Orphans are reaped too. */
	for (long ended; (ended = sys_wait4(-1, &status, WNOHANG)) != pid;) {
		if (ended > 0)
			continue;
		task_sleep_ns(sleep_ns);
		if (sleep_ns < SLEEP_NS_MAX)
			sleep_ns *= 2;
		if (!killed && clock_now_ns() - start_ns > RUN_NS_MAX) {
			print("init: %s takes longer than %lu ms\n", name, RUN_NS_MAX / 1000000);
			sys_kill(pid, SIGKILL);
			killed = true;
		}
	}
	while (sys_wait4(-1, NULL, WNOHANG) > 0)
		;
	return status & 0x7f ? -(status & 0x7f) : status >> 8 & 0xff;
}

static int run_program(const struct command *command)
{
	static const char *const environment[] = {"PATH=/bin", NULL};
	char path[128] = "/bin/";
	size_t length = text_length(command->words[0]);
	int pid;

	if (length + 6 > sizeof path)
		return 127;
	if (text_contains(command->words[0], "/"))
		memcpy(path, command->words[0], length + 1);
	else
		memcpy(path + 5, command->words[0], length + 1);
	pid = task_fork();
	if (!pid) {
		long answer = sys_execve(path, command->words, environment);

		print("init: execve %s: %ld\n", path, answer);
		sys_exit(127);
	}
	return wait_for(command->words[0], pid);
}

/* Runs one command and says how it ended; true if well. */
static bool run(const struct command *command)
{
	int status;

	if (text_equal(command->words[0], "dump")) {
		status = 0;
		for (unsigned i = 1; i < command->count; i++)
			status |= dump_file(command->words[i]) != 0;
	} else {
		status = run_program(command);
	}
	if (status < 0)
		print("init: %s killed by signal %d\n", command->words[0], -status);
	else
		print("init: %s exit %d\n", command->words[0], status);
	return status == 0;
}

/* The commands of /etc/run into the static buffer; the number of lines that hold one. */
static unsigned read_run_file(struct command *commands)
{
	static char text[RUN_BYTES_MAX];
	long fd = sys_open("/etc/run", 0);
	size_t bytes = 0;
	unsigned count = 0;
	long answer;

	if (fd < 0)
		return 0;
	while ((answer = sys_read((int)fd, text + bytes, sizeof text - 1 - bytes)) > 0)
		bytes += (size_t)answer;
	sys_close((int)fd);
	for (char *line = text, *next; *line; line = next) {
		for (next = line; *next && *next != '\n'; next++)
			;
		if (*next)
			*next++ = 0;
		if (*line == '#' || count == COMMANDS_MAX)
			continue;
		commands[count] = split(line, " \t\r");
		count += commands[count].count > 0;
	}
	return count;
}

static bool kernel_is_linux(void)
{
	static struct utsname name;

	if (syscall6(__NR_uname, (long)&name, 0, 0, 0, 0, 0) < 0)
		return false;
	return text_equal(name.sysname, "Linux") && !text_contains(name.version, "tally");
}

static _Noreturn void power_off_linux(int status)
{
	print("tally-exit: %d\n", status);
	syscall6(__NR_sync, 0, 0, 0, 0, 0, 0);
	syscall6(__NR_reboot, (long)0xfee1dead, 672274793, 0x4321fedc, 0, 0, 0);
	sys_exit(status);
}

int main(int argc, char **argv)
{
	static struct command commands[COMMANDS_MAX];
	unsigned count = 0, passed = 0;

	verdict_begin("init");
	for (int i = 1; i < argc && count < COMMANDS_MAX; i++) {
		commands[count] = split(argv[i], ":");
		count += commands[count].count > 0;
	}
	if (!count)
		count = read_run_file(commands);
	for (unsigned i = 0; i < count; i++)
		passed += run(&commands[i]);
	if (!count)
		print("init: no commands\n");
	print("verdicts: %u passed, %u failed\n", passed, count - passed);
	if (kernel_is_linux())
		power_off_linux(count && passed == count ? 0 : 1);
	return count && passed == count ? 0 : 1;
}
