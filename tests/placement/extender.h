/*
 * Plimsoll's extender without its watches and its server. Node table, estimator and judge are the
 * product's: it is told of nodes, annotations and pods, and asked as kube-scheduler asks, by a
 * filter call and a prioritize call about the nodes that this one leaves, unless only one is left.
 *
 * Left out is the text of requests and replies. A snapshot is published for every pod: pods come at
 * least 20 ms apart, and the extender publishes 10 ms after a change.
 */
#pragma once

#include "algorithm.h"
#include "extender/admission/admission_list.h"
#include "extender/estimator/estimator.h"
#include "policy/pods/pod_facts.h"

struct extender;

/** extender_new() - with the situation's policy, and the nodes as they are */
struct extender *extender_new(const struct situation *situation);
void extender_free(struct extender *extender);
/** extender_follow_nodes() - some may have joined or left */
void extender_follow_nodes(struct extender *extender);
/** extender_read() - a node's annotations were written
 * @pod_usage: next to those that are published; NULL: none */
void extender_read(struct extender *extender, size_t node, const struct pod_usage_list *pod_usage);
/** extender_estimator() - borrowed, to tell it of pods; NULL if the policy's scoring is another */
struct estimator *extender_estimator(const struct extender *extender);

/** extender_nodes() - the judge's nodes as they are now; borrowed until the next call */
const struct judge_nodes *extender_nodes(struct extender *extender);
/** extender_snapshot() - as it is now; borrowed until the next call */
const struct node_snapshot *extender_snapshot(struct extender *extender);
/** extender_row() - the row of a node after extender_nodes(); JUDGE_UNKNOWN: it has none */
uint32_t extender_row(const struct extender *extender, size_t node);

/** extender_list() - the nodes that new pods prefer as of now */
void extender_list(struct extender *extender, struct admission_lister *lister,
                   struct admission_list *ret);
/** extender_name() - of a row of extender_list(), borrowed until the next call */
const struct node_name *extender_name(const struct extender *extender, uint32_t row);

/** extender_filter() - @ret_scores: SCORE_REJECTED for candidates that are rejected or left out of
 * the shortlist, else 0 */
void extender_filter(struct extender *extender, const struct pod_facts *pod,
                     const uint32_t *candidates, size_t count, int *ret_scores);
/** extender_estimated_ratio() - CPU usage that extender_filter() took one of its candidates for,
 * reservations included and the pod not; NAN: not known. The policy's scoring is estimate */
double extender_estimated_ratio(const struct extender *extender, uint32_t node);
/** extender_score100() - of candidate @index of extender_filter(): 0 to 100, where a reply has 0 to
 * 10 */
int extender_score100(const struct extender *extender, size_t index);
/**
 * extender_prioritize() - after extender_filter() with the same candidates
 * @scores: of that; those that are not SCORE_REJECTED become 0 to SCORE_BEST
 * Return: the candidate with the most headroom; @count: was not asked
 */
size_t extender_prioritize(struct extender *extender, const struct pod_facts *pod,
                           const uint32_t *candidates, size_t count, int *scores);
