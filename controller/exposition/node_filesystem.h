/*
 * The filesystems of an exposition: which filesystems count, and the usage of the fullest. Part of
 * node_reading.c.
 *
 * A filesystem counts if it is on the node's own disks, and a pod's image, logs or emptyDir can use
 * it:
 *
 * - Its device is under /dev, or its type is zfs (whose devices are datasets). This excludes tmpfs,
 *   overlay, nfs, cifs, ceph, 9p and similar types. Devices of zram are memory.
 * - It is not fuse.*, and not read-only.
 * - Its format can be written. A squashfs, an erofs or an installation medium is always full, and
 *   exporters before 1.10 do not report it as read-only if only its superblock is.
 * - It is not mounted at or below a directory called boot or efi, which have only kernels, or oem,
 *   a partition for the vendor of an image.
 * - It is not a pod's own volume, because a full volume says nothing about the node. The kubelet
 *   mounts volumes below pods/UID/volumes, pods/UID/volume-subpaths and plugins/kubernetes.io in
 * its directory, and below plugins in a directory called kubelet.
 *
 * The kubelet's directory can be anywhere (/var/lib/kubelet, those of microk8s and k0s,
 * --root-dir), and an exporter in a container may show the node's mount points below another
 * directory (/host, /rootfs). Therefore only the end of a path matters.
 *
 * Usage is 1 - avail / size (series_used_ratio()), like the kubelet's nodefs.available. Unlike in
 * df's Use%, blocks reserved for root count as used.
 */
#pragma once

#include <stdbool.h>

#include "controller/exposition/exposition.h"
#include "controller/exposition/series_list.h"

/* The families, in the order of the table in policy/metric_resource.h. */
enum node_filesystem_field {
        FILESYSTEM_SIZE,
        FILESYSTEM_AVAILABLE,
        FILESYSTEM_READ_ONLY,
        FILESYSTEM_FIELD_COUNT
};

/** node_filesystem_take() - add one sample of a family; false if the sample is not usable */
bool node_filesystem_take(struct series_list *series, const struct exposition_sample *sample);

/**
 * node_filesystem_finish() - the usage of the fullest filesystem
 * @fields:    the series of each family, by enum node_filesystem_field
 * @ret_ratio: in [0, 1]
 * Return: NULL, or why there is no value (constant text)
 */
const char *node_filesystem_finish(const struct series_list *const *fields, double *ret_ratio);
