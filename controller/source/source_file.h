/*
 * The file of --sources, watched: when it changes, and can be read, its sources are to run; when it
 * cannot, those before stay.
 */
#pragma once

#include "base/attributes.h"
#include "base/error.h"
#include "controller/source/source_list.h"
#include "metrics/metrics.h"
#include "net/health.h"
#include "net/loop.h"

struct source_file_options {
        struct loop *loop;
        struct metrics *metrics;
        struct health *health;
        const char *path;
        struct source_list_rules rules;
        /** on_list() - @list is borrowed until the next call; the one before, until this returns */
        void (*on_list)(void *userdata, const struct source_list *list);
        void *userdata;
};

struct source_file;

/**
 * source_file_new() - load the file, then follow it
 * @options:  strings are borrowed
 * @ret_list: the first list, until on_list() has another one
 * Return: 0; negative errno when it cannot be loaded
 */
_must_check_ int source_file_new(const struct source_file_options *options,
                                 struct source_file **ret, const struct source_list **ret_list,
                                 struct error *err);
void source_file_free(struct source_file *file);
DEFINE_FREEP(struct source_file, source_file_free);

/** source_file_reload() - read it now, changed or not (SIGHUP); no-op for NULL */
void source_file_reload(struct source_file *file);
