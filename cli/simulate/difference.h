/*
 * The differences between two answers of an extender's /explain about the same nodes, by two
 * policies. The answers are not trusted: what is missing or has another type counts as unknown.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "program/style.h"

struct difference_node {
        const char *name;
        const json_t *before, *after; /* of the answers */
        double change;                /* of the score; above all scores: of the verdict */
};

struct difference {
        const json_t *before, *after;  /* the answers */
        struct difference_node *nodes; /* those that change most first */
        size_t count, changed;         /* nodes; those whose verdict or score changes */
        size_t newly_rejected, newly_passing;
};

/**
 * difference_init() - compare two answers
 * @before, @after: about the same nodes in the same order; borrowed until difference_done()
 */
void difference_init(struct difference *difference, const json_t *before, const json_t *after);
void difference_done(struct difference *difference);

/**
 * difference_print() - print what changes, for people
 * @is_wide: all nodes, not only some of those that change
 */
void difference_print(const struct difference *difference, const struct style *style, bool is_wide,
                      FILE *out);
