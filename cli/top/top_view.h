/*
 * What `top` shows of an explanation: which metrics, the nodes in which order, and their sum.
 * Pure but for its output.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "extender/explain/explanation.h"
#include "program/style.h"

enum { TOP_TITLE_MAX = 96 };

/* A metric of the policy. */
struct top_column {
        size_t metric; /* index into the policy's metrics */
        char title[TOP_TITLE_MAX];
        double limit_ratio; /* of its predicate; 0: it has none */
};

struct top_node {
        size_t row;       /* of the table */
        const char *name; /* borrowed from the table */
        int score10;      /* -1: none, as of a rejected node */
        int rejected_by;  /* of explanation.h */
        int over;     /* the predicate whose limit it is above, rejected by it or not; -1: none */
        bool is_last; /* its limit puts it last; others are not */
        double hot;
        int64_t age_ms; /* of the oldest usable value that verdict or score use; -1: there is none
                         */
        bool is_ahead;  /* one was read in the future */
        size_t used, usable; /* metrics of limits and scores, and those that have a usable value */
        double key;          /* what it is sorted by */
};

struct top_view {
        const struct explanation *explanation; /* borrowed */
        const char *policy_from;               /* borrowed */
        size_t column_count;
        struct top_column columns[POLICY_MAX_METRICS];
        size_t node_count;
        struct top_node *nodes;
        size_t passing, over, blind; /* over: above a limit, passing or not; blind: without any
                                      * usable value */
};

/**
 * top_view_init() - of @explanation
 * @has_all:  metrics that neither limit nor score are shown, too
 * @is_ascii: titles in ASCII
 */
void top_view_init(struct top_view *view, const struct explanation *explanation,
                   const char *policy_from, bool has_all, bool is_ascii);
void top_view_done(struct top_view *view);

/**
 * top_view_sort() - the largest first, names from A on
 * @key: "name", "score", "recent", "age", a metric, or the beginning of one, such as "cpu"
 * Return: 0; -EINVAL when the policy has no such metric
 */
_must_check_ int top_view_sort(struct top_view *view, const char *key, struct error *err);

/** top_view_print() - the table; @is_wide: lines may be longer than the terminal */
void top_view_print(const struct top_view *view, const struct style *style, bool is_wide,
                    FILE *out);
/** top_view_json() - the same for programs, each node as `explain` has it; owned by the caller */
json_t *top_view_json(const struct top_view *view);
