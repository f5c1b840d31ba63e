import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { AccessEnd } from '../../identity/access-ports.ts'
import type { Clock } from '../../kernel/clock.ts'
import { laterBySeconds } from '../../kernel/clock.ts'
import { mapWithin } from '../../kernel/concurrency.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import type { Call, SignedInCall } from '../../kernel/principal.ts'
import type { SecretBox } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfProvider } from '../audit.ts'
import { NothingWithheld } from '../failures.ts'
import type {
  DirectorySearch,
  ExternalAccountStore,
  ProviderCounters,
  ProviderOwner,
  ProviderSettings,
  ProviderStore,
  ProviderStores,
} from '../ports.ts'
import { directoryIssuer } from '../providers/directory-form.ts'
import { providerMissing } from '../providers/providers.ts'
import { makeDirectoryOf } from '../sealing.ts'
import type { ReconcileDeps } from '../sign-in/teams.ts'
import { reconcileTeams } from '../sign-in/teams.ts'
import type { DirectoryClient, DirectoryPerson, ExternalAccount, Provider, ProviderId } from '../types.ts'

/** Directories that are compared at the same time: one that is slow does not hold up the others. */
const directoriesAtOnce = 4
const directoriesInTurn = 32
/** As many people may always lose access by one comparison, however few a directory has. */
const endsAlways = 3

export interface CompareDirectoriesDeps extends ReconcileDeps {
  readonly accounts: ExternalAccountStore
  readonly providers: ProviderStore
  readonly directories: DirectorySearch
  readonly unitOfWork: UnitOfWork<ProviderStores>
  readonly secretBox: SecretBox
  readonly accessEnd: AccessEnd
  readonly settings: ProviderSettings
  readonly tally: ProviderCounters
  readonly clock: Clock
  readonly log: Log
}

/** Returns how many people may lose access by one comparison. @internal */
export const mostEnds = (people: number, percent: number): number =>
  Math.max(endsAlways, Math.floor((people * percent) / 100))

/** Puts the person into the teams of the groups. */
const applyGroups = async (
  deps: CompareDirectoriesDeps,
  call: Call,
  provider: Provider,
  account: ExternalAccount,
  { groups }: DirectoryPerson,
): Promise<void> => {
  deps.tally.check('renewed')
  if (groups === undefined) return
  await deps.unitOfWork.run<never, void>(call, async (stores) => {
    const user = await stores.identity.users.lock(account.userId)
    if (user !== undefined) await reconcileTeams(deps, stores, provider, user, { groups, hasGroupsOverage: false })
    return right(undefined)
  })
}

/** Ends the access of a person whom the directory no longer has, unless the person has signed in since. */
const endAccess = (deps: CompareDirectoriesDeps, call: Call, provider: Provider, checked: ExternalAccount) =>
  deps.unitOfWork.run<never, void>(call, async (stores) => {
    const user = await stores.identity.users.lock(checked.userId)
    const account = await stores.accounts.lockById(checked.id)
    const isSame = account?.endedAt === undefined && account?.signedInAt.getTime() === checked.signedInAt.getTime()
    if (user === undefined || !isSame) return right(undefined)
    // An organization decides nothing about a site admin.
    if (provider.orgId !== undefined && user.isAdmin) return right(undefined)
    const at = deps.clock.now()
    await deps.accessEnd.end(stores.identity, user, { at, because: `identity provider ${provider.name}` })
    await stores.accounts.markEnded(checked.id, at)
    deps.tally.check('ended')
    return right(undefined)
  })

/** The people of a directory, as they were compared. */
interface Compared {
  readonly people: number
  readonly gone: readonly ExternalAccount[]
}

type Unavailable = Failure<'ProviderUnavailable'>

/** Asks the directory for the people who are linked, in pages. Nothing ends before it has answered for all of them. */
const compare = async (
  deps: CompareDirectoriesDeps,
  call: Call,
  provider: Provider,
  directory: DirectoryClient,
): Promise<Either<Unavailable, Compared>> => {
  const service = { sourceIp: undefined, signal: call.signal }
  // A directory that shows no one at all has lost its people, or this service its rights to see them.
  const checked = await deps.directories.check(directory, service)
  if (isLeft(checked)) return checked
  const issuer = directoryIssuer(directory.address)
  const gone: ExternalAccount[] = []
  let people = 0
  for (let after = 0; ;) {
    const page = await deps.accounts.inForce(provider.id, after, directory.options.pageSize)
    const last = page.at(-1)
    if (last === undefined) return right({ people, gone })
    after = last.id
    people += page.length
    // This server says nothing of the people of one that was entered before: they are gone, if an administrator agrees.
    const isOwn = (account: ExternalAccount): boolean => account.issuer === issuer
    const subjects = page.filter(isOwn).map(({ subject }) => subject)
    const read = subjects.length === 0 ? right([]) : await deps.directories.read(directory, subjects, service)
    if (isLeft(read)) return read
    const found = new Map(read.right.map((person) => [person.subject, person]))
    for (const account of page) {
      const person = isOwn(account) ? found.get(account.subject) : undefined
      if (person === undefined || person.isDisabled) gone.push(account)
      else await applyGroups(deps, call, provider, account, person)
    }
    call.signal.throwIfAborted()
  }
}

/** Reports that too many people would lose access. Nothing ends. */
const withhold = async (
  deps: CompareDirectoriesDeps,
  call: Call,
  provider: Provider,
  { people, gone }: Compared,
): Promise<void> => {
  deps.tally.check('withheld')
  const counts = { people, would_end: gone.length }
  deps.log.warn(
    { provider: provider.id, ...counts },
    'a directory lacks too many people, so that no access ends: look at it, then confirm the ends or repair it',
  )
  await deps.unitOfWork.run<never, void>(call, async (stores) => {
    await stores.providers.markCompared(provider.id, gone.length, deps.clock.now())
    if (provider.withheldEnds !== gone.length)
      await stores.audit.record(auditOfProvider(provider, 'identity_provider.ends_withheld', counts))
    return right(undefined)
  })
}

/**
 * Compares the people of each directory that is due with it: who is disabled or no longer there loses access, and groups
 * are applied again. An answer that fails or is not complete ends nothing. Returns the number of directories.
 */
export const makeCompareDirectories = (deps: CompareDirectoriesDeps) => {
  const directoryOf = makeDirectoryOf(deps.secretBox)

  const compareOne = async (call: Call, provider: Provider): Promise<void> => {
    const directory = await directoryOf(provider)
    if (directory === undefined) return
    const compared = await compare(deps, call, provider, directory)
    if (isLeft(compared)) {
      deps.tally.check('unavailable')
      await deps.providers.mark(provider.id, compared.left.message, deps.clock.now())
      return
    }
    await deps.providers.mark(provider.id, '', deps.clock.now())
    const { people, gone } = compared.right
    const allowed = Math.max(mostEnds(people, deps.settings.endPercent), provider.confirmedEnds)
    if (gone.length > allowed) return withhold(deps, call, provider, compared.right)
    for (const account of gone) await endAccess(deps, call, provider, account)
    await deps.providers.markCompared(provider.id, 0, deps.clock.now())
  }

  const claimed = async (call: Call, provider: Provider): Promise<boolean> => {
    const next = laterBySeconds(deps.clock.now(), deps.settings.checkSeconds)
    if (provider.nextCheckAt === undefined) return false
    if (!(await deps.providers.claimCheck(provider.id, provider.nextCheckAt, next))) return false
    await compareOne(call, provider)
    return true
  }

  return async (call: Call): Promise<number> => {
    let count = 0
    while (!call.signal.aborted) {
      const due = await deps.providers.dueDirectories(deps.clock.now(), directoriesInTurn)
      const results = await mapWithin(due, directoriesAtOnce, (provider) => claimed(call, provider))
      const compared = results.filter((isCompared) => isCompared).length
      if (compared === 0) break
      count += compared
    }
    return count
  }
}

export interface ConfirmEndsInput {
  readonly owner: ProviderOwner
  readonly id: ProviderId
  /** As many as the last comparison withheld. */
  readonly ends: number
}

/** Lets the next comparison end the access of as many people as the last one has withheld. It runs at once. */
export const makeConfirmEnds =
  (deps: Pick<CompareDirectoriesDeps, 'unitOfWork' | 'clock'>) =>
  (
    call: SignedInCall<void>,
    { owner, id, ends }: ConfirmEndsInput,
  ): Outcome<Failure<'ProviderMissing'> | Failure<'NothingWithheld'>, void> =>
    deps.unitOfWork.run<Failure<'ProviderMissing'> | Failure<'NothingWithheld'>, void>(call, async (stores) => {
      const provider = await stores.providers.find(owner, id)
      if (provider === undefined) return left(providerMissing())
      if (ends < 1 || !(await stores.providers.confirmEnds(owner, id, ends, deps.clock.now())))
        return left(
          NothingWithheld(
            `The last comparison withheld ${provider.withheldEnds} ends of access. Look at the provider again, and ` +
              'confirm that number.',
          ),
        )
      await stores.audit.record(auditOfProvider(provider, 'identity_provider.ends_confirmed', { ends }))
      return right(undefined)
    })
