import type { HubKind } from '../clusters/hubs/ports.ts'

/** A release that Flux installs. */
export const helmReleaseKind: HubKind = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', plural: 'helmreleases' }
/** The label on a release with the name of its feature. */
export const componentLabel = 'app.kubernetes.io/component'
