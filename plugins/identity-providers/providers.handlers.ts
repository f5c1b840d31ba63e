import { makeConfirmEnds } from '../../core/identity-providers/directories/comparisons.ts'
import { makeAddDomain, makeRemoveDomain, makeVerifyDomain } from '../../core/identity-providers/domains/domains.ts'
import { makeShowLocalSignIn, makeSwitchLocalSignIn } from '../../core/identity-providers/local-sign-in.ts'
import {
  DirectorySearchPort,
  DomainProofsPort,
  DomainStorePort,
  ExternalAccountStorePort,
  ExternalSessionStorePort,
  LocalSignInStorePort,
  OpenIdConnectPort,
  ProviderSettingsPort,
  ProviderStorePort,
  ProviderUnitOfWorkPort,
} from '../../core/identity-providers/ports.ts'
import {
  makeCheckProvider,
  makeCreateProvider,
  makeListProviders,
  makeRemoveProvider,
  makeReplaceProvider,
  makeShowProvider,
} from '../../core/identity-providers/providers/providers.ts'
import type { OrganizationDomain, ProviderDescription } from '../../core/identity-providers/types.ts'
import { domainProof } from '../../core/identity-providers/types.ts'
import { IdentitySettingsPort } from '../../core/identity/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { pageWithin } from '../../core/kernel/page.ts'
import { right } from 'fp-ts/lib/Either.js'
import { EntropyPort, SecretBoxPort } from '../../core/kernel/secret.ts'
import { AddressReaderPort } from '../../core/organizations/invitations/ports.ts'
import { orgOf } from '../kit/access.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { formOf, providerWire } from './provider-wire.ts'
import {
  addOrgDomain,
  changeOrgProvider,
  checkOrgProvider,
  confirmOrgEnds,
  createOrgProvider,
  getOrgLocalSignIn,
  getOrgProvider,
  listOrgDomains,
  listOrgProviders,
  removeOrgDomain,
  removeOrgProvider,
  setOrgLocalSignIn,
  verifyOrgDomain,
} from './providers.routes.ts'

export const checkWire = ({ issuer, hasEndSession, hasBackChannelLogout, scopes }: ProviderDescription) => ({
  issuer,
  has_end_session: hasEndSession,
  has_backchannel_logout: hasBackChannelLogout,
  scopes,
})

/** The providers of organizations. */
export const orgProviderGroup = defineGroup({
  needs: {
    clock: ClockPort,
    directories: DirectorySearchPort,
    entropy: EntropyPort,
    identity: IdentitySettingsPort,
    openIdConnect: OpenIdConnectPort,
    providers: ProviderStorePort,
    secretBox: SecretBoxPort,
    settings: ProviderSettingsPort,
    unitOfWork: ProviderUnitOfWorkPort,
  },
  routes: ({ identity, ...given }) => {
    const reply = {
      reply: (provider: Parameters<typeof providerWire>[0]) => providerWire(provider, identity.baseUrl()),
    }
    return [
      handle(listOrgProviders, makeListProviders(given), {
        input: ({ grant, page }) => ({ owner: orgOf(grant), page }),
        ...reply,
      }),
      handle(createOrgProvider, makeCreateProvider(given), {
        input: ({ grant, body }) => ({ owner: orgOf(grant), form: formOf(body) }),
        ...reply,
      }),
      handle(getOrgProvider, makeShowProvider(given), {
        input: ({ grant, params }) => ({ owner: orgOf(grant), ref: { id: params.id } }),
        ...reply,
      }),
      handle(changeOrgProvider, makeReplaceProvider(given), {
        input: ({ grant, params, body }) => ({ owner: orgOf(grant), ref: { id: params.id }, form: formOf(body) }),
        ...reply,
      }),
      handle(removeOrgProvider, makeRemoveProvider(given), {
        input: ({ grant, params }) => ({ owner: orgOf(grant), ref: { id: params.id } }),
      }),
      handle(checkOrgProvider, makeCheckProvider(given), {
        input: ({ grant, params }) => ({ owner: orgOf(grant), ref: { id: params.id } }),
        reply: checkWire,
      }),
      handle(confirmOrgEnds, makeConfirmEnds(given), {
        input: ({ grant, params, body }) => ({ owner: orgOf(grant), id: params.id, ends: body.ends }),
      }),
    ]
  },
})

/** Whether the members of an organization sign in with passwords. */
export const orgLocalSignInGroup = defineGroup({
  needs: {
    accounts: ExternalAccountStorePort,
    clock: ClockPort,
    localSignIn: LocalSignInStorePort,
    sessions: ExternalSessionStorePort,
    unitOfWork: ProviderUnitOfWorkPort,
  },
  routes: (given) => [
    handle(getOrgLocalSignIn, makeShowLocalSignIn(given), {
      input: ({ grant }) => orgOf(grant),
      reply: (isOff) => ({ is_off: isOff }),
    }),
    handle(setOrgLocalSignIn, makeSwitchLocalSignIn(given), {
      input: ({ grant, body }) => ({ owner: orgOf(grant), isOff: body.is_off }),
    }),
  ],
})

const domainWire = ({ id, domain, token, verifiedAt, failingSince }: OrganizationDomain) => {
  const { recordName, fileUrl, text } = domainProof({ domain, token })
  return {
    id,
    domain,
    is_verified: verifiedAt !== undefined,
    record_name: recordName,
    file_url: fileUrl,
    proof: text,
    is_failing: failingSince !== undefined,
  }
}

/** The domains of organizations. */
export const orgDomainGroup = defineGroup({
  needs: {
    addresses: AddressReaderPort,
    clock: ClockPort,
    domains: DomainStorePort,
    entropy: EntropyPort,
    proofs: DomainProofsPort,
    unitOfWork: ProviderUnitOfWorkPort,
  },
  routes: (given) => [
    handle(
      listOrgDomains,
      async (_call, { grant, page }) => right(pageWithin(await given.domains.list(orgOf(grant)), page)),
      { reply: domainWire },
    ),
    handle(addOrgDomain, makeAddDomain(given), {
      input: ({ grant, body }) => ({ orgId: orgOf(grant), domain: body.domain }),
      reply: domainWire,
    }),
    handle(verifyOrgDomain, makeVerifyDomain(given), {
      input: ({ grant, params }) => ({ orgId: orgOf(grant), id: params.id }),
      reply: domainWire,
    }),
    handle(removeOrgDomain, makeRemoveDomain(given), {
      input: ({ grant, params }) => ({ orgId: orgOf(grant), id: params.id }),
    }),
  ],
})
