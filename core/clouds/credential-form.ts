import { credentialTypeNamed } from './credential-types.ts'
import type { CredentialForm, CredentialSpec, FieldValue, StoredCredential } from './types.ts'

/** What is shown of a credential. A stored secret is an empty text: it can be sent back, and then stays as it is. */
export const toCredentialForm = (stored: StoredCredential, spec: CredentialSpec): CredentialForm => {
  const type = credentialTypeNamed(spec.type)
  const shown = Object.entries(type?.fields ?? {}).flatMap(([name, field]): readonly (readonly [string, FieldValue])[] => {
    const value = spec.fields[name]
    return value === undefined ? [] : [[name, field.isSecret ? '' : value]]
  })
  return { name: stored.name, type: stored.type, ownerId: stored.ownerId, createdAt: stored.createdAt, block: type?.block ?? '', fields: Object.fromEntries(shown) }
}
