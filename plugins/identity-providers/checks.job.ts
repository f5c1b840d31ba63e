import { AccessEndPort } from '../../core/identity/access-ports.ts'
import {
  DirectorySearchPort,
  DomainProofsPort,
  DomainStorePort,
  ExternalAccountStorePort,
  OpenIdConnectPort,
  ProviderSettingsPort,
  ProviderStorePort,
  ProviderCountersPort,
  ProviderUnitOfWorkPort,
  SignInAttemptStorePort,
} from '../../core/identity-providers/ports.ts'
import { makeCheckDomains } from '../../core/identity-providers/domains/domains.ts'
import { makeCompareDirectories } from '../../core/identity-providers/directories/comparisons.ts'
import { makeCheckAccess } from '../../core/identity-providers/sign-in/access-checks.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { LogPort } from '../../core/kernel/log.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import { EntropyPort, SecretBoxPort } from '../../core/kernel/secret.ts'
import { ProvidedMembershipsPort } from '../../core/organizations/ports.ts'
import { defineGroup } from '../kit/group.ts'

const checkId = 'identityProviders.checkAccess'
const directoriesId = 'identityProviders.compareDirectories'
const domainsId = 'identityProviders.checkDomains'
const hourly = 3600
/** Each account is checked at the interval of the settings; the job finds those that are due. */
const checkSeconds = 15

/** Whether providers still let people in. */
export const accessCheckGroup = defineGroup({
  needs: {
    accessEnd: AccessEndPort,
    accounts: ExternalAccountStorePort,
    clock: ClockPort,
    entropy: EntropyPort,
    memberships: ProvidedMembershipsPort,
    openIdConnect: OpenIdConnectPort,
    providers: ProviderStorePort,
    secretBox: SecretBoxPort,
    settings: ProviderSettingsPort,
    tally: ProviderCountersPort,
    unitOfWork: ProviderUnitOfWorkPort,
  },
  jobs: (given) => {
    const check = makeCheckAccess(given)
    return [
      {
        id: checkId,
        summary:
          'Ask identity providers whether they still let people in, and end the access of those whom they do not',
        everySeconds: checkSeconds,
        run: async (signal) => void (await check(makeOwnCall(given.entropy)(checkId, signal))),
      },
    ]
  },
})

/** Whether the people of directories are still in them. */
export const directoryGroup = defineGroup({
  needs: {
    accessEnd: AccessEndPort,
    accounts: ExternalAccountStorePort,
    clock: ClockPort,
    directories: DirectorySearchPort,
    entropy: EntropyPort,
    log: LogPort,
    memberships: ProvidedMembershipsPort,
    providers: ProviderStorePort,
    secretBox: SecretBoxPort,
    settings: ProviderSettingsPort,
    tally: ProviderCountersPort,
    unitOfWork: ProviderUnitOfWorkPort,
  },
  jobs: (given) => {
    const compare = makeCompareDirectories(given)
    return [
      {
        id: directoriesId,
        summary: 'Compare the people of directories with them, and end the access of those who are no longer there',
        everySeconds: checkSeconds,
        run: async (signal) => void (await compare(makeOwnCall(given.entropy)(directoriesId, signal))),
      },
    ]
  },
})

/** What keeps the tables of sign-ins and domains in order. */
export const providerUpkeepGroup = defineGroup({
  needs: {
    attempts: SignInAttemptStorePort,
    clock: ClockPort,
    domains: DomainStorePort,
    entropy: EntropyPort,
    proofs: DomainProofsPort,
    unitOfWork: ProviderUnitOfWorkPort,
  },
  jobs: (given) => {
    const checkDomains = makeCheckDomains(given)
    return [
      {
        id: domainsId,
        summary: 'Look each day whether the domains of organizations are still proven',
        everySeconds: hourly,
        run: (signal) => checkDomains(makeOwnCall(given.entropy)(domainsId, signal)),
      },
      {
        id: 'identityProviders.removeAttempts',
        summary: 'Remove sign-ins that were not completed, and logout tokens that have expired',
        everySeconds: hourly,
        run: async (signal) => {
          while (!signal.aborted && (await given.attempts.purge(given.clock.now())) > 0);
        },
      },
    ]
  },
})
