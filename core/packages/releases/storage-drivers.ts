import { isLeft, left, map, right, type Either } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { defineAudit } from '../../kernel/unit-of-work.ts'
import type { ClusterId } from '../../kernel/ids.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import { ClusterMissing, type ClusterStore } from '../../clusters/ports.ts'
import type { Cluster } from '../../clusters/types.ts'
import type { DriverConfiguration, DriverConfigurationStore, StorageDriverOf } from '../ports.ts'
import { DriverRefused, type DriverUnitOfWork } from '../ports.ts'
import type { StorageDriver } from '../types.ts'

/** Helm's own default. */
const usualDriver: StorageDriver = 'Secret'

const drivers: ReadonlyMap<string, StorageDriver> = new Map([
  ['', usualDriver],
  ['secret', 'Secret'],
  ['secrets', 'Secret'],
  ['configmap', 'ConfigMap'],
  ['configmaps', 'ConfigMap'],
])

/**
 * Returns the driver of that name, in any case, singular or plural; the default for an empty name. Drivers that keep
 * records in memory or in an SQL database are not supported, because the member cluster does not contain such records.
 */
const driverNamed = (name: string): Either<Failure<'DriverRefused'>, StorageDriver> => {
  const driver = drivers.get(name.toLowerCase())
  return driver === undefined
    ? left(DriverRefused('The driver is Secret or ConfigMap; no other keeps releases in the cluster.'))
    : right(driver)
}

export const makeStorageDriverOf =
  ({ drivers: store }: { readonly drivers: Pick<DriverConfigurationStore, 'find'> }): StorageDriverOf =>
  async ({ ownerId, uid }) =>
    (await store.find(ownerId, uid))?.driver ?? usualDriver

const auditOf = defineAudit('cluster', ['package_driver.set'], ({ id, name, ownerId }: Cluster) => ({
  objectId: id,
  objectName: name,
  tenantId: ownerId,
}))

const epoch = new Date(0)

/** Returns the default configuration, with id 0. */
const usualOf = ({ ownerId, uid }: Pick<Cluster, 'ownerId' | 'uid'>): DriverConfiguration => ({
  id: 0,
  userId: ownerId,
  clusterUid: uid,
  driver: usualDriver,
  createdAt: epoch,
  updatedAt: epoch,
})

interface ClusterRecords {
  readonly clusterRecords: Pick<ClusterStore, 'get'>
}

const clusterOf = async (
  { clusterRecords }: ClusterRecords,
  id: ClusterId,
): Outcome<Failure<'ClusterMissing'>, Cluster> => {
  const cluster = await clusterRecords.get(id)
  return cluster === undefined ? left(ClusterMissing('The cluster does not exist.')) : right(cluster)
}

/** Returns the default configuration of a cluster. */
export const makeGetDefaultDriver =
  (deps: ClusterRecords) =>
  async (_call: SignedInCall, id: ClusterId): Outcome<Failure<'ClusterMissing'>, DriverConfiguration> => {
    return pipe(await clusterOf(deps, id), map(usualOf))
  }

/** Returns the configuration of a cluster, or the default one until a driver is set. */
export const makeGetDriver =
  (deps: ClusterRecords & { readonly drivers: Pick<DriverConfigurationStore, 'find'> }) =>
  async (_call: SignedInCall, id: ClusterId): Outcome<Failure<'ClusterMissing'>, DriverConfiguration> => {
    const cluster = await clusterOf(deps, id)
    if (isLeft(cluster)) return cluster
    return right((await deps.drivers.find(cluster.right.ownerId, cluster.right.uid)) ?? usualOf(cluster.right))
  }

export interface SetDriverInput {
  readonly id: ClusterId
  /** The name of the driver, as for `driverNamed`. */
  readonly driver: string
}

export interface SetDriverDeps extends ClusterRecords {
  readonly driverUnitOfWork: DriverUnitOfWork
  readonly clock: Clock
}

/** Sets the driver of a cluster. Releases are not moved between drivers. */
export const makeSetDriver =
  (deps: SetDriverDeps) =>
  async (
    call: SignedInCall<DriverConfiguration>,
    input: SetDriverInput,
  ): Outcome<Failure<'ClusterMissing'> | Failure<'DriverRefused'>, DriverConfiguration> => {
    const driver = driverNamed(input.driver)
    if (isLeft(driver)) return driver
    const cluster = await clusterOf(deps, input.id)
    if (isLeft(cluster)) return cluster
    const { ownerId, uid } = cluster.right
    return deps.driverUnitOfWork.run<never, DriverConfiguration>(call, async ({ drivers: store, audit }) => {
      const current = (await store.find(ownerId, uid)) ?? usualOf(cluster.right)
      if (current.driver === driver.right) return right(current)
      const stored = await store.put(ownerId, uid, driver.right, deps.clock.now())
      await audit.record(auditOf(cluster.right, 'package_driver.set', { driver: driver.right }))
      return right(stored)
    })
  }
