import type * as t from 'io-ts'
import { makeListBuckets, makeStorageKeys } from '../../core/clouds/buckets.ts'
import {
  makeCompleteCredential,
  makeCreateCredential,
  makeSealedCredentials,
  makeDeleteCredential,
  makeListCredentials,
  makeReplaceCredential,
  makeShowCredential,
} from '../../core/clouds/credentials.ts'
import {
  BucketDirectoryPort,
  CloudCredentialStorePort,
  CloudUnitOfWorkPort,
  ServiceAccountReaderPort,
} from '../../core/clouds/ports.ts'
import type { CredentialForm } from '../../core/clouds/types.ts'
import { ClustersAsCallerPort, KubeconfigParserPort } from '../../core/clusters/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { EntropyPort, SecretBoxPort } from '../../core/kernel/secret.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import {
  listBuckets,
  createCredential,
  deleteCredential,
  getCredential,
  listCredentials,
  replaceCredential,
} from './clouds.routes.ts'
import type { CloudCredentialApiForm } from './codecs.ts'

type Wire = t.TypeOf<typeof CloudCredentialApiForm>

const toWire = ({ name, type, ownerId, createdAt, block, fields }: CredentialForm): Wire => {
  const common = { name, type, ownerID: ownerId, creationTimestamp: createdAt }
  return { ...common, ...(block === '' ? {} : { [block]: fields }) } as unknown as Wire
}

/** The routes of the caller's cloud credentials. */
export const credentialGroup = defineGroup({
  needs: {
    clock: ClockPort,
    credentials: CloudCredentialStorePort,
    entropy: EntropyPort,
    kubeconfigs: KubeconfigParserPort,
    secretBox: SecretBoxPort,
    serviceAccounts: ServiceAccountReaderPort,
    unitOfWork: CloudUnitOfWorkPort,
  },
  routes: (given) => {
    const deps = { ...given, safe: makeSealedCredentials(given), complete: makeCompleteCredential(given) }
    return [
      handle(listCredentials, makeListCredentials(deps), {
        input: ({ query, page }) => ({ types: query.credential_type, fleetEndpoint: query.fleet_endpoint, page }),
        reply: toWire,
      }),
      handle(createCredential, makeCreateCredential(deps), { input: ({ body }) => body }),
      handle(replaceCredential, makeReplaceCredential(deps), { input: ({ body }) => body }),
      handle(getCredential, makeShowCredential(deps), { input: ({ params }) => params.credName, reply: toWire }),
      handle(deleteCredential, makeDeleteCredential(deps), { input: ({ params }) => params.credName }),
    ]
  },
})

/** The buckets that a key of the caller can list. */
export const bucketGroup = defineGroup({
  needs: {
    clusters: ClustersAsCallerPort,
    credentials: CloudCredentialStorePort,
    directory: BucketDirectoryPort,
    entropy: EntropyPort,
    secretBox: SecretBoxPort,
    serviceAccounts: ServiceAccountReaderPort,
  },
  routes: (given) => [
    handle(
      listBuckets,
      makeListBuckets({ ...given, safe: makeSealedCredentials(given), keys: makeStorageKeys(given) }),
      {
        input: ({ params, body }) => ({
          cloud: params.cloud,
          credential: body.credential,
          gceProject: body.gce_project,
          clusterUid: body.cluster_uid,
          secretNamespace: body.secret_namespace,
          secretName: body.secret_name,
          provider: body.provider,
        }),
        reply: (names) => ({ names }),
      },
    ),
  ],
})
