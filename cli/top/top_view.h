/*
 * What `top` shows: the metrics, the nodes in their order, and the totals of an extender's page
 * /nodes. The page is not trusted: what is missing or has another type is not shown. Pure except
 * for its output.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/attributes.h"
#include "base/error.h"
#include "program/style.h"

enum { TOP_TITLE_MAX = 96, TOP_COLUMNS_MAX = 64 };

/* A metric of the policy. */
struct top_column {
        const char *metric; /* borrowed from the page */
        size_t place;       /* in the values of nodes */
        char title[TOP_TITLE_MAX];
        double limit_ratio; /* in the title: the policy's, or the first pool's; 0: none */
};

/* In place of the value of a metric. */
enum { TOP_MISSING = -1, TOP_EXPIRED = -2, TOP_MALFORMED = -3 };

struct top_node {
        const json_t *text; /* the row of the page, borrowed */
        char *name;
        double score;     /* -1: none, as for a rejected node */
        char *closed_by;  /* why it takes no pods; NULL: it does */
        char *over;       /* the first limit that is exceeded, even if it passes; NULL: none */
        bool is_rejected; /* by it */
        bool is_last;     /* it ranks the node below other nodes */
        double hot;
        double pods;            /* -1: unknown, like the next two */
        double requested_ratio; /* of CPU */
        double expected_ratio;  /* expected CPU usage of base and pods */
        double age_s;           /* of the oldest usable value of its verdict and score; -1: none */
        bool is_ahead;          /* a value is from the future */
        size_t used, usable;    /* metrics of limits and scores; those with a usable value */
        double key;             /* of the sort order */
        size_t pool;
        double *values; /* of the policy's metrics; below 0: none */
};

struct top_view {
        const json_t *page; /* borrowed */
        const char *from;   /* the extender, borrowed */
        bool has_estimate;
        size_t metric_count; /* of the policy */
        size_t column_count;
        struct top_column columns[TOP_COLUMNS_MAX];
        size_t node_count;
        struct top_node *nodes;
        /* Nodes that pass; that take no pods; of the others those above a limit, even if they pass;
         * without a usable value. */
        size_t passing, closed, over, blind;
};

/**
 * top_view_init() - make a view of @page, whose nodes are texts: see json_parse_rows()
 * @names:    only the nodes that this object has as keys; NULL: all
 * @has_all:  show all metrics, even those without a limit or a priority
 * @is_ascii: titles in ASCII
 */
void top_view_init(struct top_view *view, const json_t *page, const json_t *names, const char *from,
                   bool has_all, bool is_ascii);
void top_view_done(struct top_view *view);

/** top_view_limit() - the limit of the node's pool on a metric; 0: none */
double top_view_limit(const struct top_view *view, const struct top_node *node, const char *metric);

/**
 * top_view_sort() - sort names from A to Z, or the largest first
 * @key: "name", "score", "recent", "pods", "requested", "expected", "age", or a metric or its
 * prefix, such as "cpu" Return: 0; -EX_USAGE if the policy has no such metric
 */
_must_check_ int top_view_sort(struct top_view *view, const char *key, struct error *err);

/** top_view_print() - print the table
 * @is_wide:    lines may be longer than the terminal is wide
 * @no_headers: only the lines of nodes */
void top_view_print(const struct top_view *view, const struct style *style, bool is_wide,
                    bool no_headers, FILE *out);
/** top_view_json() - the page, with the nodes of the view in their order. Owned by the caller */
json_t *top_view_json(const struct top_view *view);
