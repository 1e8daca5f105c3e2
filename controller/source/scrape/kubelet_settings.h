/*
 * The kind of source that scrapes kubelets.
 */
#pragma once

#include "controller/source/source.h"

extern const struct source_kind kubelet_kind;
