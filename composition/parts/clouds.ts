import { cloudsMigrations } from '../../adapters/sql/clouds/migrations.ts'
import { makeSdkBucketDirectory } from '../../adapters/clouds/bucket-directory.ts'
import { makeEgressClient } from '../../adapters/outbound/egress-client.ts'
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
import type { EgressClient } from '../../adapters/outbound/egress-client.ts'
import { token } from '../../core/kernel/token.ts'
import { cloudsPlugin } from '../../plugins/clouds/plugin.ts'
import { absentUnlessSet } from '../part/setting.ts'
import { origin } from '../part/setting-type.ts'
import { bind, lazily } from '../part/binding.ts'
import { definePart } from '../part/part.ts'
import { fetchSpan, spansOf } from '../part/spans.ts'

const VendorEgressToken = token<EgressClient>('clouds.VendorEgress')
const OperatorEgressToken = token<EgressClient>('clouds.OperatorEgress')

/** Cloud credentials and access to the buckets of clouds. */
export const part = definePart({
  plugin: cloudsPlugin,
  spans: [
    spansOf(BucketDirectoryToken, { list: { name: 'list buckets' } }),
    spansOf(VendorEgressToken, { fetch: fetchSpan }),
    spansOf(OperatorEgressToken, { fetch: fetchSpan }),
  ],
  migrations: cloudsMigrations,
  settings: {
    cloudAStorageEndpoint: absentUnlessSet(
      'MOORAGE_CLOUD_A_STORAGE_ENDPOINT',
      origin,
      'Where buckets of cloud A (aws) are listed, instead of at the vendor; any address, also by http.',
      { fallbackText: 'the vendor', after: 'MOORAGE_AUDIT_RETENTION_DAYS' },
    ),
    cloudBStorageEndpoint: absentUnlessSet(
      'MOORAGE_CLOUD_B_STORAGE_ENDPOINT',
      origin,
      'Where containers of cloud B (azure) are listed, the account in the path, instead of at the vendor.',
      { fallbackText: 'the vendor' },
    ),
    cloudCStorageEndpoint: absentUnlessSet(
      'MOORAGE_CLOUD_C_STORAGE_ENDPOINT',
      origin,
      'Where buckets of cloud C (gce) are listed, instead of at the vendor.',
      { fallbackText: 'the vendor' },
    ),
    cloudCTokenEndpoint: absentUnlessSet(
      'MOORAGE_CLOUD_C_TOKEN_ENDPOINT',
      origin,
      'Where a service account of cloud C gets its access token (`/token`), instead of at the vendor.',
      { fallbackText: 'the vendor' },
    ),
  },
  provide({ database, settings, resolver }) {
    const store = lazily(() => makeSqlCloudCredentialStore(database))
    return [
      bind(
        VendorEgressToken,
        {},
        () => makeEgressClient(makeEgressPolicy(new Set(['public']), resolver.lookup), false),
        (client) => client.close(),
      ),
      // An endpoint that is configured is intended, at any address.
      bind(
        OperatorEgressToken,
        {},
        () => makeEgressClient(makeEgressPolicy(new Set(['public', 'private', 'loopback']), resolver.lookup), true),
        (client) => client.close(),
      ),
      bind(ServiceAccountReaderToken, {}, () => serviceAccountReader),
      bind(
        BucketDirectoryToken,
        { vendorEgress: VendorEgressToken, operatorEgress: OperatorEgressToken },
        ({ vendorEgress, operatorEgress }) =>
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
      ),
      bind(CloudCredentialStoreToken, {}, () => store()(database)),
      bind(CloudUnitOfWorkToken, { chain: AuditChainToken }, ({ chain }) =>
        makeSqlUnitOfWork(
          database,
          (tx, audit) => ({ credentials: store()(tx), audit }),
          makeSqlAuditTrail(database, chain),
        ),
      ),
    ]
  },
})
