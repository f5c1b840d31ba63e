import {
  makeCompleteCredential,
  makeCredentialSafe,
  makeListCredentials,
  makeShowCredential,
  makeCreateCredential,
  makeDeleteCredential,
  makeReplaceCredential,
} from '../../core/clouds/credentials.ts'
import { makeListBuckets } from '../../core/clouds/buckets.ts'
import { BucketDirectoryToken, CloudCredentialStoreToken, CloudUnitOfWorkToken, ServiceAccountReaderToken } from '../../core/clouds/ports.ts'
import { makeStorageKeys } from '../../core/clouds/storage-keys.ts'
import { ClustersAsCallerToken, KubeconfigParserToken } from '../../core/clusters/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { EntropyToken } from '../../core/kernel/entropy.ts'
import { SecretBoxToken } from '../../core/kernel/secret.ts'
import { definePlugin } from '../kit/plugin.ts'
import { cloudHandlers } from './clouds.handlers.ts'

export const cloudsPlugin = definePlugin({
  id: 'clouds',
  summary: 'Cloud credentials of users, and the buckets that they give access to',
  listener: 'api',
  gate: 'always',
  needs: {
    clock: ClockToken,
    clusters: ClustersAsCallerToken,
    credentials: CloudCredentialStoreToken,
    directory: BucketDirectoryToken,
    entropy: EntropyToken,
    kubeconfigs: KubeconfigParserToken,
    secretBox: SecretBoxToken,
    serviceAccounts: ServiceAccountReaderToken,
    unitOfWork: CloudUnitOfWorkToken,
  },
  routes: (given) => {
    const deps = { ...given, safe: makeCredentialSafe(given), complete: makeCompleteCredential(given), keys: makeStorageKeys(given) }
    return cloudHandlers({
      list: makeListCredentials(deps),
      show: makeShowCredential(deps),
      create: makeCreateCredential(deps),
      replace: makeReplaceCredential(deps),
      remove: makeDeleteCredential(deps),
      buckets: makeListBuckets(deps),
    })
  },
})
