import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { toCredentialForm } from './credential-form.ts'
import type { CredentialSafe } from './credential-safe.ts'
import { httpsUrl } from './https-url.ts'
import { CredentialMissing, type CloudCredentialStore } from './ports.ts'
import type { CredentialForm } from './types.ts'

interface Deps {
  readonly credentials: Pick<CloudCredentialStore, 'find' | 'list'>
  readonly safe: CredentialSafe
}

/** What a list is narrowed by; an empty list of types means every type. */
export interface WantedCredentials {
  readonly types: readonly string[]
  readonly fleetEndpoint: string | undefined
}

/** The caller's credentials by name, without their secrets. */
export const makeListCredentials = (deps: Deps) =>
  async (call: SignedInCall, wanted: WantedCredentials, page: PageRequest): Promise<Page<CredentialForm>> => {
    const types = wanted.types.filter((type) => type !== '')
    const endpoint = wanted.fleetEndpoint === '' ? undefined : wanted.fleetEndpoint
    const filter = { types: types.length === 0 ? undefined : types, fleetEndpoint: endpoint === undefined ? undefined : (httpsUrl(endpoint) ?? endpoint) }
    const found = await deps.credentials.list(call.principal.userId, filter, page)
    return { ...found, items: await Promise.all(found.items.map(async (stored) => toCredentialForm(stored, await deps.safe.open(stored)))) }
  }

/** One credential of the caller, without its secrets. */
export const makeShowCredential = (deps: Deps) =>
  async (call: SignedInCall, name: string): Outcome<Failure<'CredentialMissing'>, CredentialForm> => {
    const stored = await deps.credentials.find(call.principal.userId, name)
    return stored === undefined ? left(CredentialMissing('You have no credential of that name.')) : right(toCredentialForm(stored, await deps.safe.open(stored)))
  }
