import * as t from 'io-ts'
import { cloudWords } from '../../core/clouds/types.ts'
import { credentialTypes, credentialTypeWords, type CredentialField } from '../../core/clouds/credential-form.ts'
import { answer, freeText, Instant, noted, oneOf, optional, PathName, repeatable, request, SafeInteger } from '../kit/codecs.ts'

const secretNote = { type: 'string', description: 'A secret: an empty string if one is stored, absent otherwise.' }

const fieldCodec = ({ kind, isSecret }: CredentialField): t.Mixed =>
  kind === 'list' ? optional(t.readonlyArray(t.string)) : optional(isSecret ? noted(t.string, secretNote) : t.string)

type Block = Readonly<Record<string, string | readonly string[] | undefined>>

/** One optional key for each block. An answer has exactly one of them. */
const blocks = t.type(
  Object.fromEntries(
    Object.values(credentialTypes).map(({ block, fields }) => [
      block,
      optional(t.type(Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, fieldCodec(field)])))),
    ]),
  ),
) as t.Type<Readonly<Record<string, Block | undefined>>>

/** A stored credential as shown to its holder, with the one block that its type names. */
export const CloudCredentialApiForm = t.intersection(
  [
    answer({ name: t.string, type: t.string, ownerID: SafeInteger, creationTimestamp: Instant }, 'CloudCredential'),
    blocks,
  ],
  'CloudCredentialApiForm',
)

export const CredentialsQuery = request(
  {
    credential_type: noted(repeatable(freeText(64)), { description: `One of ${credentialTypeWords.join(', ')}; may be repeated.` }),
    fleet_endpoint: optional(freeText(512)),
  },
  'CredentialsQuery',
)

export const CredentialPath = request({ credName: PathName }, 'CredentialPath')
export const CloudPath = request({ cloud: oneOf(...cloudWords) }, 'CloudPath')

export const BucketListOptions = request(
  {
    credential: optional(freeText(253)),
    gce_project: optional(freeText(256)),
    cluster_uid: optional(freeText(64)),
    secret_namespace: optional(freeText(63)),
    secret_name: optional(freeText(253)),
    provider: optional(freeText(64)),
  },
  'BucketListOptions',
)

export const BucketListResponse = answer({ names: t.readonlyArray(t.string) }, 'BucketListResponse')
