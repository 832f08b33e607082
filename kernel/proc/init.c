/* SPDX-License-Identifier: MIT
 *
 * init.c: the first process: pid 1, the program that `init=` names (or /init), with the console on
 * 0, 1 and 2.
 *
 * Its arguments are the words after "--" in the boot arguments. It starts in the kernel, as a task
 * that becomes a program.
 */
#include <kernel/file.h>
#include <kernel/machine.h>
#include <kernel/page.h>
#include <kernel/perf.h>
#include <kernel/printk.h>
#include <kernel/string.h>
#include <kernel/task.h>

#define PATH_MAX_BYTES 256u

/* The words after "--". */
static const char *extra_words(void)
{
	const char *p = machine.bootargs;

	while (*p != '\0') {
		if (strncmp(p, "--", 2) == 0 && (p[2] == ' ' || p[2] == '\0') &&
			(p == machine.bootargs || p[-1] == ' '))
			return p + 2;
		p++;
	}
	return p;
}

static void add_word(struct exec_arguments *args, const char *word, size_t n)
{
	memcpy(args->strings + args->bytes, word, n);
	args->strings[args->bytes + n] = '\0';
	args->bytes += n + 1;
}

static void become_init(void *unused)
{
	static char strings[BOOTARGS_MAX + PATH_MAX_BYTES + 64];
	struct exec_arguments args = {.strings = strings};
	char path[PATH_MAX_BYTES] = "/init";
	const char *p = extra_words();
	int error;

	(void)unused;
	perf_init();
	boot_arg("init", path, sizeof(path));
	add_word(&args, path, strlen(path));
	args.argc = 1;
	while (*p != '\0') {
		size_t n = 0;

		while (p[n] != '\0' && p[n] != ' ')
			n++;
		if (n > 0) {
			add_word(&args, p, n);
			args.argc++;
		}
		p += n + (p[n] == ' ');
	}
	add_word(&args, "HOME=/", 6);
	add_word(&args, "TERM=linux", 10);
	args.envc = 2;
	error = task_exec(path, &args);
	if (error != 0)
		panic("cannot run %s: error %d", path, -error);
}

void start_init(void)
{
	struct task *task = task_new();
	struct process *process = process_new();
	struct file *console = console_open();

	KASSERT(task != NULL && process != NULL && console != NULL);
	string_copy(task->comm, "init", sizeof(task->comm));
	task->files = files_new_with(console);
	KASSERT(task->files != NULL && task_id_take(task) == 0 && task->tid == 1);
	task->process = process;
	process->pid = 1;
	process->leader = task;
	process->thread_count = 1;
	process_get(process); /* the tree's */
	task_get(task);
	process->parent = process;
	list_insert_tail(&process->threads, &task->thread_link);
	init_process = process;
	task->findable = true;
	task->context.x19_x28[0] = (u64)become_init;
	sched_start(task);
}
