import { AccessDenied } from '../../core/authz/ports.ts'
import {
  BucketSourceRefused, CloudKeyRefused, CloudSdkMissing, CloudUnreachable, CredentialMissing, SecretForbidden, SecretMissing,
} from '../../core/clouds/ports.ts'
import { ClusterMissing, ClusterNotConnected, ClusterUnreachable, CredentialRefused } from '../../core/clusters/ports.ts'
import { SecondFactorDemanded, TokenLifeTooLong } from '../../core/kernel/access.ts'
import { read, signedIn } from '../kit/access.ts'
import { json } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import { BucketListOptions, BucketListResponse, CloudPath } from './codecs.ts'

export const listBuckets = defineRoute({
  id: 'clouds.listBuckets',
  method: 'GET',
  path: '/user/clouds/{cloud}/buckets',
  summary: 'List the buckets that a key of the caller can list',
  description:
    'Name one source of a key: `credential`, a stored one of a type that fits the cloud, or `cluster_uid`, `secret_namespace` and ' +
    '`secret_name`, a Secret that is read from the cluster as the caller (the token needs read:cluster). Keys of the secret: ' +
    'AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and, for vendors with the S3 protocol, AWS_ENDPOINT (a host that the vendor documents); ' +
    'AZURE_ACCOUNT_NAME and AZURE_ACCOUNT_KEY; GOOGLE_SERVICE_ACCOUNT_JSON_KEY and GOOGLE_PROJECT_ID. At most 10,000 names.',
  tag: 'Identity - Users & Settings',
  access: signedIn,
  scope: read('user'),
  params: CloudPath,
  body: body(BucketListOptions, { credential: 'backups' }, { orQuery: true, whenAbsent: {} }),
  ok: json(200, BucketListResponse, { names: ['backups-eu', 'logs'] }),
  failures: [
    AccessDenied, BucketSourceRefused, CloudKeyRefused, CloudSdkMissing, CloudUnreachable, ClusterMissing, ClusterNotConnected,
    ClusterUnreachable, CredentialMissing, CredentialRefused, SecondFactorDemanded, SecretForbidden, SecretMissing, TokenLifeTooLong,
  ],
})
