import { AccessDenied } from '../../core/authz/ports.ts'
import {
  BucketSourceRefused,
  CloudCredentialRefused,
  CloudKeyRefused,
  CloudSdkMissing,
  CloudUnreachable,
  CredentialChanged,
  CredentialMissing,
  CredentialNameTaken,
  SecretForbidden,
  SecretMissing,
} from '../../core/clouds/ports.ts'
import {
  ClusterMissing,
  ClusterNotConnected,
  ClusterUnreachable,
  CredentialRefused,
} from '../../core/clusters/ports.ts'
import { PasskeyDemanded, SecondFactorDemanded, TokenLifeTooLong } from '../../core/kernel/access.ts'
import { signedIn } from '../kit/access.ts'
import { FreeObjectCodec } from '../kit/codecs.ts'
import { empty, json, list } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import {
  BucketListOptions,
  BucketListResponse,
  CloudCredentialApiForm,
  CloudPath,
  CredentialPath,
  CredentialsQuery,
} from './codecs.ts'

const route = routesOf({ tag: 'Identity - Users & Settings', access: signedIn, scopeCategory: 'user' })
const limitBytes = 256 * 1024

const shown = {
  name: 'backups',
  type: 'Aws',
  ownerID: 12,
  creationTimestamp: '2026-11-21T08:00:00.000Z',
  aws: { accessKeyID: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: '' },
}
const sent = {
  name: 'backups',
  type: 'Aws',
  aws: { accessKeyID: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' },
}

const blockWords =
  'name, type, ownerID (your own id, or absent) and exactly one block, named after the type (`aws` for ' +
  '`Aws`). Returns 400 for unknown fields. '

export const listCredentials = route({
  id: 'clouds.listCredentials',
  method: 'GET',
  path: '/user/credentials',
  summary: "List the caller's cloud credentials, without their secrets",
  description: 'By name. `fleet_endpoint` narrows the list to credentials of type Rancher for that endpoint.',
  query: CredentialsQuery,
  ok: list(CloudCredentialApiForm, shown),
})

export const createCredential = route({
  id: 'clouds.createCredential',
  method: 'POST',
  path: '/user/credentials',
  summary: 'Create a cloud credential',
  description: `${blockWords}The whole block is encrypted at rest; its secret fields are never returned.`,
  refusesSudo: true,
  body: body(FreeObjectCodec, sent, { limitBytes, malformedAs: 422 }),
  ok: empty(201),
  failures: [CloudCredentialRefused, CredentialNameTaken],
})

export const replaceCredential = route({
  id: 'clouds.replaceCredential',
  method: 'PUT',
  path: '/user/credentials',
  summary: 'Replace the cloud credential that the body names',
  description:
    `${blockWords}A secret field that is omitted or empty does not change unless the type changes; \`null\` ` +
    'removes an optional one.',
  refusesSudo: true,
  body: body(FreeObjectCodec, sent, { limitBytes, malformedAs: 422 }),
  ok: empty(204),
  failures: [CloudCredentialRefused, CredentialMissing, CredentialChanged],
  statusOf: { CredentialMissing: 422 },
})

export const getCredential = route({
  id: 'clouds.getCredential',
  method: 'GET',
  path: '/user/credentials/{credName}',
  summary: 'Get a cloud credential of the caller, without its secrets',
  description: 'A stored secret is an empty string, which `PUT /user/credentials` accepts to keep the secret.',
  params: CredentialPath,
  ok: json(200, CloudCredentialApiForm, shown),
  failures: [CredentialMissing],
})

export const deleteCredential = route({
  id: 'clouds.deleteCredential',
  method: 'DELETE',
  path: '/user/credentials/{credName}',
  summary: 'Delete a cloud credential of the caller',
  description: 'The stored secrets are deleted with it. Keys at the cloud provider are not revoked.',
  params: CredentialPath,
  ok: empty(204),
  failures: [CredentialMissing],
})

export const listBuckets = route({
  id: 'clouds.listBuckets',
  method: 'GET',
  path: '/user/clouds/{cloud}/buckets',
  summary: 'List the buckets that are visible with a key of the caller',
  description:
    'Requires one source of a key: `credential`, a stored credential whose type matches the cloud, or ' +
    '`cluster_uid`, `secret_namespace` and ' +
    '`secret_name`, a Secret that is read from the cluster as the caller (the token needs read:cluster). ' +
    'Keys of the secret: ' +
    'AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and, for vendors with the S3 protocol, ' +
    'AWS_ENDPOINT (a host that the vendor documents); ' +
    'AZURE_ACCOUNT_NAME and AZURE_ACCOUNT_KEY; GOOGLE_SERVICE_ACCOUNT_JSON_KEY and GOOGLE_PROJECT_ID. At ' +
    'most 10,000 names.',
  params: CloudPath,
  body: body(BucketListOptions, { credential: 'backups' }, { orQuery: true, whenAbsent: {} }),
  ok: json(200, BucketListResponse, { names: ['backups-eu', 'logs'] }),
  failures: [
    AccessDenied,
    BucketSourceRefused,
    CloudKeyRefused,
    CloudSdkMissing,
    CloudUnreachable,
    ClusterMissing,
    ClusterNotConnected,
    ClusterUnreachable,
    CredentialMissing,
    CredentialRefused,
    PasskeyDemanded,
    SecondFactorDemanded,
    SecretForbidden,
    SecretMissing,
    TokenLifeTooLong,
  ],
})
