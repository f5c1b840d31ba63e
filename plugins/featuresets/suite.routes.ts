import { hubChangeFailures, hubReadFailures } from '../../core/clusters/hubs/ports.ts'
import { ClusterSetMissing } from '../../core/clustersets/types.ts'
import { AutoUpdateImpossible } from '../../core/featuresets/suite.ts'
import { ClusterSetPath } from '../clustersets/codecs.ts'
import { requires } from '../kit/access.ts'
import { empty, json } from '../kit/reply.ts'
import { routesOf } from '../kit/shared-route.ts'
import { AutoUpdateCheck, clusterSetInPath, VersionSync } from './codecs.ts'

const route = routesOf({ tag: 'Multi-cluster', scopeCategory: 'cluster', params: ClusterSetPath, failures: [...hubReadFailures, ClusterSetMissing] })
const prefix = '/clusters/{owner}/{cluster}/clustersets/{clusterset}'
const reading = requires('can_view', clusterSetInPath)

export const getSuiteVersions = route({
  id: 'featuresets.getSuiteVersions',
  method: 'GET',
  path: `${prefix}/sync-status/suite-features-version`,
  summary: 'Get the version of the suite on a cluster set and on each of its spokes',
  description: 'The suite is the feature that carries the catalogue. A version is empty if it is not installed or not known.',
  access: reading,
  ok: json(200, VersionSync, { clusterSetVersion: 'v2026.9.15', clusters: [{ name: 'harbour', version: 'v2026.9.15' }] }),
})

export const checkAutoUpdate = route({
  id: 'featuresets.checkAutoUpdate',
  method: 'GET',
  path: `${prefix}/auto-update/check`,
  summary: 'Get whether the spokes of a cluster set can follow its version of the suite',
  description: 'Possible if the set has spokes, and all of them have the version of the suite that the hub itself has.',
  access: reading,
  ok: json(200, AutoUpdateCheck, { possible: true }),
})

export const startAutoUpdate = route({
  id: 'featuresets.startAutoUpdate',
  method: 'POST',
  path: `${prefix}/auto-update`,
  summary: 'Make the spokes of a cluster set follow its version of the suite',
  description: 'The set gets the version of the suite that the hub has, and no spoke stays at a version of its own. 400 where the check says that it is not possible.',
  access: requires('can_manage_feature_sets', clusterSetInPath),
  ok: empty(200),
  failures: [...hubChangeFailures, AutoUpdateImpossible],
})
