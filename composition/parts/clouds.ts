import { cloudsMigrations } from '../../adapters/sql/clouds/migrations.ts'
import { makeSdkBucketDirectory } from '../../adapters/clouds/bucket-directory.ts'
import { makeEgressClient } from '../../adapters/outbound/egress-client.ts'
import { serviceAccountReader } from '../../adapters/clouds/google-buckets.ts'
import { makeEgressPolicy } from '../../adapters/outbound/egress-policy.ts'
import { makeSqlCloudCredentialStore } from '../../adapters/sql/clouds/cloud-credential-store.ts'
import {
  BucketDirectoryPort,
  CloudCredentialStorePort,
  CloudUnitOfWorkPort,
  ServiceAccountReaderPort,
} from '../../core/clouds/ports.ts'
import type { EgressClient } from '../../adapters/outbound/egress-client.ts'
import { portKey } from '../../core/kernel/port-key.ts'
import { cloudsPlugin } from '../../plugins/clouds/plugin.ts'
import { absentUnlessSet } from '../part/setting.ts'
import { origin } from '../part/setting-type.ts'
import { bind, lazily } from '../part/binding.ts'
import { definePart } from '../part/part.ts'
import { fetchSpan, spansOf } from '../part/spans.ts'
import { bindUnitOfWork } from './units-of-work.ts'

const VendorEgressPort = portKey<EgressClient>('clouds.VendorEgress')
const OperatorEgressPort = portKey<EgressClient>('clouds.OperatorEgress')

/** Cloud credentials and access to the buckets of clouds. */
export const part = definePart({
  plugin: cloudsPlugin,
  spans: [
    spansOf(BucketDirectoryPort, { list: { name: 'list buckets' } }),
    spansOf(VendorEgressPort, { fetch: fetchSpan }),
    spansOf(OperatorEgressPort, { fetch: fetchSpan }),
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
        VendorEgressPort,
        {},
        () => makeEgressClient(makeEgressPolicy(new Set(['public']), resolver.lookup), false),
        (client) => client.close(),
      ),
      // An endpoint that is configured is intended, at any address.
      bind(
        OperatorEgressPort,
        {},
        () => makeEgressClient(makeEgressPolicy(new Set(['public', 'private', 'loopback']), resolver.lookup), true),
        (client) => client.close(),
      ),
      bind(ServiceAccountReaderPort, {}, () => serviceAccountReader),
      bind(
        BucketDirectoryPort,
        { vendorEgress: VendorEgressPort, operatorEgress: OperatorEgressPort },
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
      bind(CloudCredentialStorePort, {}, () => store()(database)),
      bindUnitOfWork(database, CloudUnitOfWorkPort, () => (tx) => ({ credentials: store()(tx) })),
    ]
  },
})
