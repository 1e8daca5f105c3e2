/* About which pods schedulers asked extenders, by their pages /decisions. */
#pragma once

#include "base/strmap.h"
#include "cli/cluster/cluster.h"

struct rebalance_asked {
        struct strmap uids; /* of the pods; the values are not NULL */
        char *why_not;      /* why an extender did not answer; NULL: all did */
};

/** rebalance_asked_read() - ask all extenders. A page may be a second old
 * @ret: released with rebalance_asked_done() */
void rebalance_asked_read(struct cluster *cluster, struct rebalance_asked *ret);
void rebalance_asked_done(struct rebalance_asked *asked);
