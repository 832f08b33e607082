/* SPDX-License-Identifier: MIT
 *
 * choice.c: the one place where a run asks what is not determined (machine/choice.h).
 */
#include "state.h"

uint32_t machine_choice(struct machine *m, enum machine_choice_kind kind, uint32_t n)
{
	const struct machine_policy *policy = m->description->policy;
	uint32_t answer;

	if (!policy || n < 2)
		return 0;
	if (policy->explored && !machine_in_experiment(m))
		return 0;
	answer = policy->choose(policy->context, m, kind, n);
	return answer < n ? answer : n - 1;
}

char machine_choice_letter(enum machine_choice_kind kind)
{
	static const char letters[MACHINE_CHOICE_KINDS] = {
		'C', 'N', 'S', 'I', 'V', 'E', 'H', 'F', 'T'};

	return (unsigned int)kind < MACHINE_CHOICE_KINDS ? letters[kind] : '?';
}

/* splitmix64 (Steele, Lea, Flood 2014) */
uint64_t machine_random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint32_t choose_randomly(
	void *context, const struct machine *m, enum machine_choice_kind kind, uint32_t n)
{
	struct machine_random_policy *random = context;
	uint32_t usual = kind == MACHINE_CHOICE_INTERRUPT; /* most are taken at once */
	uint64_t value;

	(void)m;
	if (kind == MACHINE_CHOICE_NEXT)
		kind = MACHINE_CHOICE_CPU;
	if (random->rate[kind] == 0)
		return usual;
	value = machine_random_next(&random->state);
	if ((value & 0xffff) >= random->rate[kind])
		return usual;
	if (n == 2)
		return !usual;
	return 1 + (uint32_t)((value >> 16) % (n - 1));
}

void machine_random_policy_init(
	struct machine_policy *policy, struct machine_random_policy *random, uint64_t seed)
{
	*random = (struct machine_random_policy){.state = seed};
	random->rate[MACHINE_CHOICE_CPU] = 65536 / 8;
	random->rate[MACHINE_CHOICE_TASK] = 65536 / 16;
	random->rate[MACHINE_CHOICE_INTERRUPT] = 65536 / 4;
	*policy = (struct machine_policy){
		.context = random, .choose = choose_randomly, .points = true, .concurrent = true};
}

bool machine_late_registers(const struct machine *m)
{
	return machine_explored(m) && m->description->policy->late_registers;
}
