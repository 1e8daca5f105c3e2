/*
 * `plimsoll-extender explain`: the reasons of each node's verdict and score. Reads the output of
 * `kubectl get nodes -o json` and runs it through the server's own node table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "extender/table/node_table.h"

/** explain_main() - the subcommand; @argv[0] is "explain". Return: the exit status */
int explain_main(int argc, char **argv);

/* The pod that looks for a node. */
struct explained_pod {
        const char *name;     /* "namespace/name"; NULL: any pod without requests */
        struct pod_load load; /* what it is expected to use */
        struct load_factor factor;
};

struct explained_estimate {
        const struct node_snapshot *snapshot;
        const double *headrooms; /* [row] */
        struct explained_pod pod;
};

/* The input of the two printers. */
struct explanation {
        const struct node_table *table; /* its rows, in the order of the input */
        const struct policy *policy;
        const struct verdict_largest *largest; /* among the nodes that pass */
        const struct node_verdict *verdicts;   /* [row] */
        const int *scores10;                   /* [row]; as the scheduler would receive them */
        int64_t now_unix_ms;
        const struct explained_estimate *estimate; /* NULL unless the scoring is estimate */
        const char *only; /* the one node to print, though all are judged; NULL: all */
        size_t first_row; /* is printed before the others; 0: in the order of the input */
};

/** explain_row() - the row that is printed as number @place, from 0 */
size_t explain_row(const struct explanation *explanation, size_t place);
/** explain_shows() - whether the printers print this row */
bool explain_shows(const struct explanation *explanation, size_t row);

/** explain_print_table() - for people; @has_colours: escape sequences and bars */
void explain_print_table(const struct explanation *explanation, bool has_colours, FILE *out);
/** explain_json() - an array with an object per node; owned by the caller */
json_t *explain_json(const struct explanation *explanation);
/** explain_print_json() - explain_json() as text */
void explain_print_json(const struct explanation *explanation, FILE *out);
