/*
 * The sources in --metrics-source, in order of preference, and behind them the --exporter ones:
 * which there are, and those that run. Each has an index, under which it reports.
 * Which one is used is decided per node, see feed.h; which ones are read, see source.h.
 */
#pragma once

#include <stddef.h>

#include "base/attributes.h"
#include "base/error.h"
#include "controller/source/source.h"

struct source_set_options {
        const struct source_kind *const *kinds; /* all that there are; NULL ends them */
        struct source_item items[SOURCE_MAX];
        size_t count; /* > 0 */
};

/**
 * source_set_order() - read "prometheus,node-exporter" into kinds and items of @ret
 * Return: 0; -EINVAL for an unknown, repeated or missing name
 */
_must_check_ int source_set_order(const char *text, const struct source_kind *const *kinds,
                                  struct source_set_options *ret, struct error *err);
/**
 * source_set_configure() - every kind reads its flags, also those that are not named
 * Return: 0; negative errno, and @err names the flag
 */
_must_check_ int source_set_configure(struct source_set_options *options,
                                      const struct source_setup *setup, struct error *err);

/** source_set_item() - the source of @kind; NULL when --metrics-source does not name it */
struct source_item *source_set_item(struct source_set_options *options,
                                    const struct source_kind *kind);
/** source_set_has_name() - is there a kind, or a source, of this name? */
bool source_set_has_name(const struct source_set_options *options, const char *name, size_t len);
/** source_set_takes_targets() - can all of them read a URL that --target names? */
bool source_set_takes_targets(const struct source_set_options *options);
/** source_set_in_flight() - how many requests all sources together may have in flight */
size_t source_set_in_flight(const struct source_set_options *options, size_t nodes);
/** source_set_hosts() - how many servers all sources together ask */
size_t source_set_hosts(const struct source_set_options *options, size_t nodes);

struct source_set;

/** source_set_new() - @options' strings are borrowed; @sink is copied, its source set for each */
struct source_set *source_set_new(const struct source_parts *parts,
                                  const struct source_set_options *options,
                                  const struct source_sink *sink);
/** source_set_stop() - end all sources; what the set is then given is in vain. Not to be called
 * from a sink */
void source_set_stop(struct source_set *set);
void source_set_free(struct source_set *set);

/* To each of them, see struct source_ops. */
void source_set_policy(struct source_set *set, const struct policy *policy);
void source_set_add_node(struct source_set *set, struct node *node);
void source_set_remove_node(struct source_set *set, struct node *node);
