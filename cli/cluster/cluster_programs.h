/* The pages of the programs of an installation, through the API server's proxy; or of the extender
 * of --extender, directly. */
#pragma once

#include <jansson.h>

#include "base/attributes.h"
#include "base/error.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/cluster_page.h"

/* A page that is read from one replica after the other. Set the first members, and release it with
 * cluster_question_done(). */
struct cluster_question {
        struct cluster *cluster; /* borrowed, like the texts */
        const char *program;     /* PROGRAM_EXTENDER or PROGRAM_CONTROLLER */
        const char *page;        /* without a leading slash, with its query */
        const json_t *body;      /* of a POST; NULL: GET */
        const char *rows;        /* as @key of json_parse_rows() */
        size_t next;             /* the replica to ask next; 0: from the first */
        /* Set by cluster_question_next(). */
        size_t asked_count;
        const char *from; /* the last that was asked: its pod or URL */
        char *why_not;    /* why a replica did not answer; NULL: all did */
        json_t *pods;     /* of the installation; NULL: not read yet, or they cannot be listed */
        struct error err; /* why */
};

void cluster_question_done(struct cluster_question *question);

/** cluster_question_next() - the JSON object from the next replica that answers
 * Return: owned by the caller; NULL: there are no more */
json_t *cluster_question_next(struct cluster_question *question);

/**
 * cluster_check_version() - is @answer of the version that this plugin knows?
 * @from: who answered
 * Return: 0; -ENODATA: it is not
 */
_must_check_ int cluster_check_version(const json_t *answer, const char *from, struct error *err);

/**
 * cluster_ask() - what the first extender that answers says on /nodes or /explain
 * @page: without a leading slash
 * @body: of a POST; NULL: GET
 * @rows: as @key of json_parse_rows()
 * @ret: of the version that this plugin knows; owned by the caller
 * @ret_from: for people: the extender and the time; owned by the caller
 * Return: 0; -ENODATA: none answers, or it is of another version
 */
_must_check_ int cluster_ask(struct cluster *cluster, const char *page, const json_t *body,
                             const char *rows, json_t **ret, char **ret_from, struct error *err);
