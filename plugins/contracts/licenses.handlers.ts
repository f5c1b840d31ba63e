import { isLeft, right } from 'fp-ts/lib/Either.js'
import { makeOnAnyContract } from '../../core/contracts/administration.ts'
import { makeListAuthorities, makeListRevocations, makeOpenAuthorities } from '../../core/contracts/authorities.ts'
import { makeIssueLicense } from '../../core/contracts/licenses.ts'
import {
  AuthorityStoreToken,
  BindingStoreToken,
  ContractStoreToken,
  ContractUnitOfWorkToken,
  LicenseSignerToken,
  LicenseStoreToken,
  QuotaUsageToken,
} from '../../core/contracts/ports.ts'
import { makeIssueForMachine, makeIssueForProxy } from '../../core/contracts/machine-licenses.ts'
import { AuthorizerToken } from '../../core/authz/ports.ts'
import { IdentityStoresToken } from '../../core/identity/ports.ts'
import { CachesToken } from '../../core/kernel/cache.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { SecretBoxToken } from '../../core/kernel/secret.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { toLicense, toProxyValues } from './contract-wire.ts'
import {
  getAuthorities,
  getRevocations,
  issueAnyLicense,
  issueForMachine,
  issueLicense,
  makeProxyValues,
} from './licenses.routes.ts'

/** Licenses of bound clusters, and what verifiers need. */
export const licenseGroup = defineGroup({
  needs: {
    authorities: AuthorityStoreToken,
    authorizer: AuthorizerToken,
    bindings: BindingStoreToken,
    caches: CachesToken,
    clock: ClockToken,
    contracts: ContractStoreToken,
    identity: IdentityStoresToken,
    licenses: LicenseStoreToken,
    quotaUsage: QuotaUsageToken,
    secretBox: SecretBoxToken,
    signer: LicenseSignerToken,
    unitOfWork: ContractUnitOfWorkToken,
  },
  routes: (given) => {
    const deps = { ...given, users: given.identity.users, authorities: makeOpenAuthorities(given) }
    const issue = makeIssueLicense(deps)
    const issueAny = makeOnAnyContract(given)(issue)
    const authorities = makeListAuthorities(given)
    return [
      handle(issueLicense, issue, {
        input: ({ grant, params: { id, ccID } }) => ({
          ownerId: grant.ownerId,
          id,
          clusterId: ccID,
          kind: 'offline' as const,
        }),
        reply: toLicense,
      }),
      handle(issueAnyLicense, issueAny, {
        input: ({ params: { id, ccID } }) => ({ id, clusterId: ccID, kind: 'offline' as const }),
        reply: toLicense,
      }),
      handle(issueForMachine, makeIssueForMachine({ ...given, issue }), {
        input: ({ body }) => body,
        reply: toLicense,
      }),
      handle(makeProxyValues, makeIssueForProxy({ ...given, issue }), {
        input: ({ grant, body }) => ({
          ownerId: grant.ownerId,
          cluster: body.clusterID,
          contractIds: body.contractIDs,
        }),
        reply: toProxyValues,
      }),
      handle(getAuthorities, async (_call, { query }) => {
        const listed = await authorities(query.license)
        return isLeft(listed)
          ? listed
          : right(listed.right.map(({ certificatePem }) => `${certificatePem.trim()}\n`).join(''))
      }),
      handle(getRevocations, makeListRevocations(deps)),
    ]
  },
})
