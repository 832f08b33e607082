/* SPDX-License-Identifier: MIT
 *
 * explore_matrix.c: prints the race matrix that scenario files cover, as Markdown.
 *
 *   explore_matrix FILE...
 *
 * Three tables: hooks against calls, with the number of scenarios for each cell, and roles against
 * hooks and against calls. The files are read as `tally` reads them, so a cell that is shown has
 * its operations in a file (tools/scenario_explore.c). A cell that must be covered and is not is
 * named on stderr. Exit status: 0, 1 some cell is not covered, 2 a file is wrong.
 */
#include <stdio.h>
#include <string.h>

#include "scenario.h"

struct matrix {
	uint32_t other[RACE_HOOKS][RACE_CALLS]; /* scenarios */
	uint32_t same[RACE_HOOKS][RACE_CALLS];
	uint32_t hook_role[RACE_ROLES][RACE_HOOKS];
	uint32_t call_role[RACE_ROLES][RACE_CALLS];
	uint32_t scenarios;
	uint32_t gaps;
};

/* Nobody runs on a CPU when its online hook does. */
static bool same_can_be(uint32_t hook)
{
	return hook != RACE_ONLINE;
}

/* An open with a leader is a group link, the close of a leader is no other close. */
static bool role_can_be(uint32_t role, uint32_t call)
{
	switch (1u << role) {
	case RACE_LEADER:
		return call != RACE_GROUP_LINK && call != RACE_CLOSE_EVENT;
	case RACE_MEMBER:
		return call != RACE_OPEN && call != RACE_CLOSE_LEADER;
	default:
		return true;
	}
}

/* Each scenario counts once in a cell, however many of its lines name it. */
static void add_scenario(struct matrix *matrix, const struct scenario_explore *explore)
{
	static struct matrix seen;

	memset(&seen, 0, sizeof(seen));
	for (uint32_t i = 0; i < explore->cover_count; i++) {
		const struct scenario_cell *cell = &explore->covers[i];

		if (cell->same_cpu)
			seen.same[cell->hook][cell->call] = 1;
		else
			seen.other[cell->hook][cell->call] = 1;
		for (uint32_t role = 0; role < RACE_ROLES; role++) {
			seen.hook_role[role][cell->hook] |= cell->roles >> role & 1;
			seen.call_role[role][cell->call] |= cell->roles >> role & 1;
		}
	}
	for (uint32_t hook = 0; hook < RACE_HOOKS; hook++) {
		for (uint32_t call = 0; call < RACE_CALLS; call++) {
			matrix->other[hook][call] += seen.other[hook][call];
			matrix->same[hook][call] += seen.same[hook][call];
		}
	}
	for (uint32_t role = 0; role < RACE_ROLES; role++) {
		for (uint32_t hook = 0; hook < RACE_HOOKS; hook++)
			matrix->hook_role[role][hook] += seen.hook_role[role][hook];
		for (uint32_t call = 0; call < RACE_CALLS; call++)
			matrix->call_role[role][call] += seen.call_role[role][call];
	}
	matrix->scenarios++;
}

/* A cell that can be, and `count` scenarios for it. */
static void note_gap(struct matrix *matrix, uint32_t count, const char *row, const char *column,
	const char *where)
{
	if (count != 0)
		return;
	fprintf(stderr, "not covered: %s x %s%s\n", row, column, where);
	matrix->gaps++;
}

static void print_rule(uint32_t columns)
{
	printf("| --- |");
	for (uint32_t i = 0; i < columns; i++)
		printf(" :-: |");
	printf("\n");
}

static void print_pairs(struct matrix *matrix)
{
	printf("| other + same CPU |");
	for (uint32_t call = 0; call < RACE_CALLS; call++)
		printf(" %s |", race_call_name(call));
	printf("\n");
	print_rule(RACE_CALLS);
	for (uint32_t hook = 0; hook < RACE_HOOKS; hook++) {
		printf("| %s |", race_hook_name(hook));
		for (uint32_t call = 0; call < RACE_CALLS; call++) {
			const char *h = race_hook_name(hook), *c = race_call_name(call);

			note_gap(matrix, matrix->other[hook][call], h, c, ", other CPU");
			printf(" %u +", matrix->other[hook][call]);
			if (same_can_be(hook)) {
				note_gap(matrix, matrix->same[hook][call], h, c, ", same CPU");
				printf(" %u |", matrix->same[hook][call]);
			} else {
				printf(" x |");
			}
		}
		printf("\n");
	}
}

static void print_roles(struct matrix *matrix)
{
	printf("\n| scenarios by role |");
	for (uint32_t hook = 0; hook < RACE_HOOKS; hook++)
		printf(" %s |", race_hook_name(hook));
	printf("\n");
	print_rule(RACE_HOOKS);
	for (uint32_t role = 0; role < RACE_ROLES; role++) {
		printf("| %s |", race_role_name(role));
		for (uint32_t hook = 0; hook < RACE_HOOKS; hook++) {
			note_gap(matrix, matrix->hook_role[role][hook], race_role_name(role),
				race_hook_name(hook), "");
			printf(" %u |", matrix->hook_role[role][hook]);
		}
		printf("\n");
	}
	printf("\n| scenarios by role |");
	for (uint32_t call = 0; call < RACE_CALLS; call++)
		printf(" %s |", race_call_name(call));
	printf("\n");
	print_rule(RACE_CALLS);
	for (uint32_t role = 0; role < RACE_ROLES; role++) {
		printf("| %s |", race_role_name(role));
		for (uint32_t call = 0; call < RACE_CALLS; call++) {
			if (!role_can_be(role, call)) {
				printf(" x |");
				continue;
			}
			note_gap(matrix, matrix->call_role[role][call], race_role_name(role),
				race_call_name(call), "");
			printf(" %u |", matrix->call_role[role][call]);
		}
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	static struct matrix matrix;

	for (int i = 1; i < argc; i++) {
		struct failure failure = {0};
		struct scenario scenario;

		if (!scenario_load(&scenario, argv[i], &failure)) {
			fprintf(stderr, "%s\n", failure.text);
			return 2;
		}
		if (!scenario.explore.present) {
			fprintf(stderr, "%s: has no section `explore`\n", argv[i]);
			return 2;
		}
		add_scenario(&matrix, &scenario.explore);
		scenario_free(&scenario);
	}
	print_pairs(&matrix);
	print_roles(&matrix);
	printf("\n%u scenarios.\n", matrix.scenarios);
	return matrix.gaps != 0;
}
