/*
 * The filesystems of an exposition: which of them count, and how full the fullest is. Part of
 * node_reading.c.
 *
 * Counted is what lies on the node's own disks and what a pod's image, logs and emptyDir may land
 * on:
 *
 * - The device is one under /dev, or the type is zfs (whose devices are datasets). That leaves out
 *   tmpfs, overlay, nfs, cifs, ceph, 9p and their like.
 * - Not fuse.*, and not read-only: a squashfs or an installation medium is full by nature.
 * - Not mounted at /boot or below, where only kernels go.
 * - Not mounted where the kubelet mounts pods' own volumes, since a full one says nothing about the
 *   node: below pods/UID/volumes, pods/UID/volume-subpaths and plugins/kubernetes.io of its
 *   directory, and below plugins of a directory that is called kubelet.
 *
 * The kubelet's directory may be anywhere (/var/lib/kubelet, microk8s' and k0s', --root-dir), and
 * an exporter in a container may show the node's mount points below another directory (/host,
 * /rootfs). So only the end of a path decides.
 *
 * Fullness is 1 - avail / size (series_used_ratio()): what the kubelet's nodefs.available goes by.
 * Blocks that are kept for root count as used, which df's Use% sees otherwise.
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

/** node_filesystem_take() - note one sample of a family; false when the sample is not usable */
bool node_filesystem_take(struct series_list *series, const struct exposition_sample *sample);

/**
 * node_filesystem_finish() - the fullest
 * @fields:    the series of each family, by enum node_filesystem_field
 * @ret_ratio: in [0, 1]
 * Return: NULL, or why nothing can be said (constant text)
 */
const char *node_filesystem_finish(const struct series_list *const *fields, double *ret_ratio);
