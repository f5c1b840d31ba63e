import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import type { AccessGrant } from '../../kernel/access.ts'
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
export const usualDriver: StorageDriver = 'Secret'

const drivers: ReadonlyMap<string, StorageDriver> = new Map([
  ['', usualDriver],
  ['secret', 'Secret'],
  ['secrets', 'Secret'],
  ['configmap', 'ConfigMap'],
  ['configmaps', 'ConfigMap'],
])

/**
 * Returns the driver of that name, in any case, singular or plural; the default for an empty name. Drivers that keep records
 * in memory or in an SQL database are not supported, because the member cluster does not contain such records.
 */
export const driverNamed = (name: string): Either<Failure<'DriverRefused'>, StorageDriver> => {
  const driver = drivers.get(name.toLowerCase())
  return driver === undefined ? left(DriverRefused('The driver is Secret or ConfigMap; no other keeps releases in the cluster.')) : right(driver)
}

export const makeStorageDriverOf = ({ drivers: store }: { readonly drivers: Pick<DriverConfigurationStore, 'find'> }): StorageDriverOf =>
  async ({ ownerId, uid }) => (await store.find(ownerId, uid))?.driver ?? usualDriver

interface Deps {
  readonly clusterRecords: Pick<ClusterStore, 'get'>
  readonly drivers: DriverConfigurationStore
  readonly driverUnitOfWork: DriverUnitOfWork
  readonly clock: Clock
}

const epoch = new Date(0)

/** Returns the default configuration, with id 0. */
const usualOf = ({ ownerId, uid }: Pick<Cluster, 'ownerId' | 'uid'>): DriverConfiguration => ({
  id: 0, userId: ownerId, clusterUid: uid, driver: usualDriver, createdAt: epoch, updatedAt: epoch,
})

/** Reads and sets the driver of a cluster. A change does not move releases between drivers. */
export const makeDriverConfigurations = (deps: Deps) => {
  const clusterOf = async (grant: AccessGrant) => {
    const cluster = await deps.clusterRecords.get(grant.objectId as ClusterId)
    return cluster === undefined ? left(ClusterMissing('The cluster does not exist.')) : right(cluster)
  }

  const usual = async (grant: AccessGrant): Outcome<Failure<'ClusterMissing'>, DriverConfiguration> => {
    const cluster = await clusterOf(grant)
    if (isLeft(cluster)) return cluster
    return right(usualOf(cluster.right))
  }

  return {
    usual,

    async show(grant: AccessGrant): Outcome<Failure<'ClusterMissing'>, DriverConfiguration> {
      const fallback = await usual(grant)
      if (isLeft(fallback)) return fallback
      const { userId, clusterUid } = fallback.right
      return right((await deps.drivers.find(userId, clusterUid)) ?? fallback.right)
    },

    async set(call: SignedInCall<DriverConfiguration>, grant: AccessGrant, name: string): Outcome<Failure<'ClusterMissing'> | Failure<'DriverRefused'>, DriverConfiguration> {
      const driver = driverNamed(name)
      if (isLeft(driver)) return driver
      const cluster = await clusterOf(grant)
      if (isLeft(cluster)) return cluster
      const { id, ownerId, uid } = cluster.right
      return deps.driverUnitOfWork.run<never, DriverConfiguration>(call, async (stores) => {
        const current = (await stores.drivers.find(ownerId, uid)) ?? usualOf(cluster.right)
        if (current.driver === driver.right) return right(current)
        const stored = await stores.drivers.put(ownerId, uid, driver.right, deps.clock.now())
        await stores.audit.record({
          action: 'package_driver.set', objectType: 'cluster', objectId: id, objectName: cluster.right.name, tenantId: ownerId,
          changes: { driver: driver.right },
        })
        return right(stored)
      })
    },
  }
}
