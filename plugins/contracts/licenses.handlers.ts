import { isLeft, right } from 'fp-ts/lib/Either.js'
import { makeOnAnyContract } from '../../core/contracts/administration.ts'
import { makeListAuthorities, makeListRevocations, makeOpenAuthorities } from '../../core/contracts/authorities.ts'
import { makeIssueLicense } from '../../core/contracts/licenses.ts'
import {
  AuthorityStorePort,
  BindingStorePort,
  ContractStorePort,
  ContractUnitOfWorkPort,
  LicenseSignerPort,
  LicenseStorePort,
  QuotaUsagePort,
} from '../../core/contracts/ports.ts'
import { makeIssueForMachine, makeIssueForProxy } from '../../core/contracts/machine-licenses.ts'
import { AuthorizerPort } from '../../core/authz/ports.ts'
import { IdentityStoresPort } from '../../core/identity/ports.ts'
import { CachesPort } from '../../core/kernel/cache.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { SecretBoxPort } from '../../core/kernel/secret.ts'
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
    authorities: AuthorityStorePort,
    authorizer: AuthorizerPort,
    bindings: BindingStorePort,
    caches: CachesPort,
    clock: ClockPort,
    contracts: ContractStorePort,
    identity: IdentityStoresPort,
    licenses: LicenseStorePort,
    quotaUsage: QuotaUsagePort,
    secretBox: SecretBoxPort,
    signer: LicenseSignerPort,
    unitOfWork: ContractUnitOfWorkPort,
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
