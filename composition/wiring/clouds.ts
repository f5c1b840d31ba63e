import { makeSdkBucketDirectory } from '../../adapters/clouds/bucket-directory.ts'
import { makeEgressClient } from '../../adapters/clouds/sdk.ts'
import { serviceAccountReader } from '../../adapters/clouds/google-buckets.ts'
import { makeEgressPolicy } from '../../adapters/outbound/egress-policy.ts'
import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeSqlCloudCredentialStore } from '../../adapters/sql/clouds/cloud-credential-store.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import { AuditChainToken } from '../../core/audit/ports.ts'
import {
  BucketDirectoryToken,
  CloudCredentialStoreToken,
  CloudUnitOfWorkToken,
  ServiceAccountReaderToken,
} from '../../core/clouds/ports.ts'
import type { Provide } from '../boot.ts'

/** Provides cloud credentials and access to the buckets of clouds. */
export const provideClouds: Provide = (container, boot) => {
  const { database, settings } = boot
  const bindStore = makeSqlCloudCredentialStore(database)
  const vendorEgress = makeEgressClient(makeEgressPolicy(new Set(['public']), boot.resolver.lookup), false)
  // An endpoint that is configured is intended, at any address.
  const operatorEgress = makeEgressClient(
    makeEgressPolicy(new Set(['public', 'private', 'loopback']), boot.resolver.lookup),
    true,
  )
  boot.onStop('connections to clouds', async () => {
    await Promise.all([vendorEgress.close(), operatorEgress.close()])
  })
  container.provideValue(ServiceAccountReaderToken, serviceAccountReader)
  container.provide(BucketDirectoryToken, () =>
    makeSdkBucketDirectory({
      vendorEgress,
      operatorEgress,
      endpoints: {
        aws: settings.cloudAStorageEndpoint,
        azure: settings.cloudBStorageEndpoint,
        google: settings.cloudCStorageEndpoint,
        googleToken: settings.cloudCTokenEndpoint,
      },
    }),
  )
  container.provide(CloudCredentialStoreToken, () => bindStore(database))
  container.provide(CloudUnitOfWorkToken, (resolve) =>
    makeSqlUnitOfWork(
      database,
      (tx, audit) => ({ credentials: bindStore(tx), audit }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    ),
  )
}
