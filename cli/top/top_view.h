/*
 * What `top` shows of an explanation: the metrics, the nodes in their order, and the sums. Pure but
 * for its output.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/explanation/explanation.h"
#include "program/style.h"

enum { TOP_TITLE_MAX = 96 };

/* A metric of the policy. */
struct top_column {
        size_t metric; /* index into the policy's metrics */
        char title[TOP_TITLE_MAX];
        double limit_ratio; /* in the title: the policy's, or else of the first pool; 0: none */
};

struct top_node {
        size_t row;            /* of the table */
        const char *name;      /* borrowed from the table */
        int score10;           /* -1: it has none, as when it is rejected */
        const char *closed_by; /* as in explanation.h */
        int rejected_by;       /* as in explanation.h */
        int over;     /* the first predicate whose limit it is above, even if it passes; -1: none */
        bool is_last; /* a limit makes it rank below other nodes */
        double hot;
        int64_t pods;          /* of listed_nodes.h */
        double expected_ratio; /* of its CPU, that base and pods are expected to use; -1: not known
                                */
        int64_t age_ms; /* of the oldest usable value in its verdict and score; -1: there is none */
        bool is_ahead;  /* one was read in the future */
        size_t used,
                usable; /* metrics of limits and scores; how many of them have a usable value */
        double key;     /* that it is sorted by */
};

struct top_view {
        const struct explanation *explanation; /* borrowed */
        const char *policy_from;               /* borrowed */
        size_t column_count;
        struct top_column columns[POLICY_MAX_METRICS];
        size_t node_count;
        struct top_node *nodes;
        /* Nodes that pass; that take no pods; that are above a limit, even if they pass; without a
         * usable value. */
        size_t passing, closed, over, blind;
};

/**
 * top_view_init() - make a view of @explanation
 * @listed:   for the numbers of pods, with scoring: estimate; NULL: not known
 * @has_all:  show all metrics, even those without a limit or a priority
 * @is_ascii: titles in ASCII
 */
void top_view_init(struct top_view *view, const struct explanation *explanation,
                   const struct listed_nodes *listed, const char *policy_from, bool has_all,
                   bool is_ascii);
void top_view_done(struct top_view *view);

/**
 * top_view_sort() - the largest first, but names from A to Z
 * @key: "name", "score", "recent", "pods", "expected", "age", or a metric or its beginning, such as
 * "cpu" Return: 0; -EINVAL if the policy has no such metric
 */
_must_check_ int top_view_sort(struct top_view *view, const char *key, struct error *err);

/** top_view_print() - print the table
 * @is_wide:    lines may be longer than the terminal is wide
 * @no_headers: only the lines of nodes */
void top_view_print(const struct top_view *view, const struct style *style, bool is_wide,
                    bool no_headers, FILE *out);
/** top_view_json() - the same for programs, each node as `explain` has it; owned by the caller */
json_t *top_view_json(const struct top_view *view);
