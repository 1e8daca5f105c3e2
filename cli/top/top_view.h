/*
 * What `top` shows: the metrics, the nodes in their order, and the totals of an explanation. Pure
 * except for its output.
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
        double limit_ratio; /* in the title: the policy's, or the first pool's; 0: none */
};

struct top_node {
        size_t row;            /* of the table */
        const char *name;      /* borrowed from the table */
        int score10;           /* -1: none, as for a rejected node */
        const char *closed_by; /* see explanation.h */
        int rejected_by;       /* see explanation.h */
        int over;     /* the first predicate whose limit is exceeded, even if it passes; -1: none */
        bool is_last; /* a limit ranks it below other nodes */
        double hot;
        int64_t pods;           /* see listed_nodes.h */
        double requested_ratio; /* of CPU; see listed_nodes.h */
        double expected_ratio;  /* expected CPU usage of base and pods; -1: unknown */
        int64_t age_ms;         /* of the oldest usable value of its verdict and score; -1: none */
        bool is_ahead;          /* a value is from the future */
        size_t used, usable;    /* metrics of limits and scores; those with a usable value */
        double key;             /* of the sort order */
};

struct top_view {
        const struct explanation *explanation; /* borrowed */
        const char *policy_from;               /* borrowed */
        size_t column_count;
        struct top_column columns[POLICY_MAX_METRICS];
        size_t node_count;
        struct top_node *nodes;
        /* Nodes that pass; that take no pods; above a limit, even if they pass; without a usable
         * value. */
        size_t passing, closed, over, blind;
};

/**
 * top_view_init() - make a view of @explanation
 * @listed:   has the numbers of pods, with scoring: estimate; NULL: unknown
 * @has_all:  show all metrics, even those without a limit or a priority
 * @is_ascii: titles in ASCII
 */
void top_view_init(struct top_view *view, const struct explanation *explanation,
                   const struct listed_nodes *listed, const char *policy_from, bool has_all,
                   bool is_ascii);
void top_view_done(struct top_view *view);

/**
 * top_view_sort() - sort names from A to Z, or the largest first
 * @key: "name", "score", "recent", "pods", "requested", "expected", "age", or a metric or its
 * prefix, such as "cpu" Return: 0; -EINVAL if the policy has no such metric
 */
_must_check_ int top_view_sort(struct top_view *view, const char *key, struct error *err);

/** top_view_print() - print the table
 * @is_wide:    lines may be longer than the terminal is wide
 * @no_headers: only the lines of nodes */
void top_view_print(const struct top_view *view, const struct style *style, bool is_wide,
                    bool no_headers, FILE *out);
/** top_view_json() - for programs; nodes are objects of explanation_json(). Owned by the caller */
json_t *top_view_json(const struct top_view *view);
