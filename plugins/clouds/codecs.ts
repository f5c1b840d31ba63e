import * as t from 'io-ts'
import { cloudWords } from '../../core/clouds/types.ts'
import { credentialTypes, credentialTypeWords, type CredentialField } from '../../core/clouds/credential-form.ts'
import {
  answer,
  described,
  freeText,
  Instant,
  oneOf,
  optional,
  pathName,
  plainValue,
  repeatable,
  request,
  SafeInteger,
} from '../kit/codecs.ts'

/** The meaning of each field that is not secret. */
const fieldWords: Readonly<Record<string, string>> = {
  accessKeyID: 'The id of the access key.',
  account: 'The name of the storage account.',
  accountID: 'The id of the account at the provider.',
  clientID: 'The id of the application that signs in.',
  domain: 'The domain of the user.',
  endpoint: 'The address of the API of the fleet manager, https.',
  expiry: 'The time at which the access token expires, RFC 3339.',
  organization: 'The id of the organization at the provider.',
  projectID: 'The id of the project at the provider.',
  region: 'The region at the provider.',
  scopes: 'The scopes of the access token.',
  sshKeyName: 'The name of the SSH key at the provider that new machines get.',
  subscriptionID: 'The id of the subscription.',
  tenantAuthURL: 'The address at which the user signs in, https.',
  tenantDomain: 'The domain of the tenant.',
  tenantID: 'The id of the tenant.',
  tenantName: 'The name of the tenant.',
  username: 'The name of the user who signs in.',
}

const meaningOf = (name: string, { isSecret, isRequired }: CredentialField): string => {
  if (isSecret) return 'A secret: an empty string if one is stored, absent otherwise.'
  return [fieldWords[name], ...(isRequired ? [] : ['Absent if it was not given.'])].join(' ')
}

const fieldCodec = (name: string, field: CredentialField): t.Mixed =>
  described(field.kind === 'list' ? optional(t.readonlyArray(t.string)) : optional(t.string), meaningOf(name, field))

const fieldsOf = (fields: Readonly<Record<string, CredentialField>>): Readonly<Record<string, t.Mixed>> =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, fieldCodec(name, field)]))

type Block = Readonly<Record<string, string | readonly string[] | undefined>>

/** One optional key for each block. An answer has exactly one of them. */
const blocks = t.type(
  Object.fromEntries(
    Object.entries(credentialTypes).map(([type, { block, fields }]) => [
      block,
      described(
        optional(t.type(fieldsOf(fields))),
        `The fields of a credential of type ${type}; absent for other types.`,
      ),
    ]),
  ),
) as t.Type<Readonly<Record<string, Block | undefined>>>

/** A stored credential as shown to its holder, with the one block that its type names. */
export const CloudCredentialApiForm = t.intersection(
  [
    answer(
      {
        name: described(t.string, 'The name of the credential, unique for its user.'),
        type: described(t.string, 'The type of the credential, which also determines the block with its fields.'),
        ownerID: described(SafeInteger, 'The id of the user who stored the credential.'),
        creationTimestamp: described(Instant, 'The time at which the credential was stored, RFC 3339.'),
      },
      'CloudCredential',
    ),
    blocks,
  ],
  'CloudCredentialApiForm',
)

export const CredentialsQuery = request(
  {
    credential_type: described(
      repeatable(plainValue(freeText(64))),
      `Only credentials of these types (repeatable): ${credentialTypeWords.join(', ')}. All types if it is absent.`,
    ),
    fleet_endpoint: described(
      optional(plainValue(freeText(512))),
      'Only credentials of type Rancher for the fleet manager at this https address; all credentials if it is ' +
        'absent or empty.',
    ),
  },
  'CredentialsQuery',
)

export const CredentialPath = request(
  {
    credName: described(pathName('cloud credential'), 'The name of the credential.'),
  },
  'CredentialPath',
)
export const CloudPath = request(
  {
    cloud: described(
      oneOf(...cloudWords),
      'The cloud whose buckets are listed; several words mean the same cloud, as `aws` and `s3`.',
    ),
  },
  'CloudPath',
)

export const BucketListOptions = request(
  {
    credential: described(
      optional(freeText(253)),
      'The name of a stored credential of the caller whose type fits the cloud; absent or empty if a Secret of a ' +
        'cluster is named.',
    ),
    gce_project: described(
      optional(freeText(256)),
      'The id of the project whose buckets are listed, for Google Cloud only; by default that of the credential ' +
        'or of its service account.',
    ),
    cluster_uid: described(
      optional(freeText(64)),
      'The UID of the cluster that has the Secret; absent or empty if a credential is named.',
    ),
    secret_namespace: described(
      optional(freeText(63)),
      'The namespace of the Secret, a DNS label; absent or empty if a credential is named.',
    ),
    secret_name: described(
      optional(freeText(253)),
      'The name of the Secret, a DNS name; absent or empty if a credential is named.',
    ),
    provider: described(
      optional(freeText(64)),
      'The cloud again; absent or empty if it is not stated, and refused if it is not the cloud in the path.',
    ),
  },
  'BucketListOptions',
)

export const BucketListResponse = answer(
  {
    names: described(
      t.readonlyArray(t.string),
      'The names of the buckets in the order of the provider, at most 10,000.',
    ),
  },
  'BucketListResponse',
)
