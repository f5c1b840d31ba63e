import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Allowances } from '../../identity/attempt-ports.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { Call } from '../../kernel/principal.ts'
import type { AddressReader } from '../../organizations/invitations/ports.ts'
import { TooManySearches } from '../failures.ts'
import type { ProviderStore } from '../ports.ts'
import type { Provider, ProviderId } from '../types.ts'

/** Most buttons of the sign-in page. */
const maxButtons = 20

/**
 * Lists the active providers of the site, by name: the buttons of the sign-in page, for anyone. A signed-in caller also
 * gets those of the own organizations, to link the account to.
 */
export const makeListButtons =
  ({ providers }: { readonly providers: Pick<ProviderStore, 'list' | 'ofMember'> }) =>
  async ({ principal }: Call<never>): Outcome<never, readonly Provider[]> => {
    const { items } = await providers.list(undefined, { page: 1, limit: maxButtons })
    const own = principal === undefined ? [] : await providers.ofMember(principal.userId, maxButtons)
    return right([...items.filter(({ isActive }) => isActive), ...own])
  }

/**
 * Returns the provider that an address leads to by its domain. It says nothing about the address: an account is never
 * looked up. What is no address leads nowhere, as a domain without a provider does.
 */
export const makeFindProvider =
  (deps: {
    readonly providers: Pick<ProviderStore, 'ofDomain'>
    readonly addresses: AddressReader
    readonly allowances: Allowances
  }) =>
  async (call: Call<never>, address: string): Outcome<Failure<'TooManySearches'>, ProviderId | undefined> => {
    const retryAfterSeconds = await deps.allowances.take('provider-search', call.sourceIp)
    if (retryAfterSeconds !== undefined)
      return left(TooManySearches('Too many requests; wait and try again.', { retryAfterSeconds }))
    const read = deps.addresses.read(address.trim())
    if (isLeft(read)) return right(undefined)
    return right(await deps.providers.ofDomain(read.right.key.slice(read.right.key.lastIndexOf('@') + 1)))
  }
