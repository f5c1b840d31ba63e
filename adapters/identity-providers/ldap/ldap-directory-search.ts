import { left, right } from 'fp-ts/lib/Either.js'
import type { Entry, Filter } from 'ldapts'
import {
  ConstraintViolationError,
  InappropriateAuthError,
  InvalidCredentialsError,
  InvalidDNSyntaxError,
  NoSuchObjectError,
  UnwillingToPerformError,
} from 'ldapts'
import type { Failure, Outcome } from '../../../core/kernel/failure.ts'
import { Busy } from '../../../core/kernel/failure.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import type { Clock } from '../../../core/kernel/clock.ts'
import type { DirectoryCall, DirectorySearch } from '../../../core/identity-providers/ports.ts'
import type { DirectoryClient, DirectoryPerson } from '../../../core/identity-providers/types.ts'
import type { AccountLimiter } from '../../outbound/account-limiter.ts'
import type { ConnectionOptions, LdapConnection } from './connection.ts'
import { makeConnect } from './connection.ts'
import { attributesOf, entrySubject, namedGroups, personOf } from './entries.ts'
import { anyGroupFilter, filterProblem, groupsFilter, peopleFilter, personFilter, subjectsFilter } from './filters.ts'
import { DirectoryProblem, unavailable } from './problems.ts'

export interface LdapOptions extends ConnectionOptions {
  readonly limiter: Pick<AccountLimiter, 'run'>
  readonly clock: Clock
}

/** Of one call, with all its requests. */
const callMilliseconds = 60_000
/** How many steps a group in a group in a group is followed, and how many groups are found for a person. */
const maxDepth = 5
const maxGroups = 1_000

interface Searched {
  readonly base: string
  readonly filter: Filter
  readonly attributes: string[]
  /** The answer may be shorter than what there is. */
  readonly atMost?: number
  readonly pageSize?: number
}

/** Searches a subtree. References to other servers are not followed. Throws if the answer is not complete. */
const search = async (
  { client, beginAnswer }: LdapConnection,
  { base, filter, attributes, atMost, pageSize }: Searched,
): Promise<readonly Entry[]> => {
  beginAnswer()
  const { searchEntries } = await client.search(base, {
    scope: 'sub',
    filter,
    attributes,
    explicitBufferAttributes: ['objectGUID'],
    ...definedFields({ sizeLimit: atMost, paged: pageSize === undefined ? undefined : { pageSize } }),
  })
  return searchEntries
}

/** The results of a bind that say that the person does not prove to be the entry. */
const refusals = [
  InvalidCredentialsError,
  NoSuchObjectError,
  UnwillingToPerformError,
  InappropriateAuthError,
  ConstraintViolationError,
  InvalidDNSyntaxError,
]

const isBound = async ({ client }: LdapConnection, dn: string, password: string): Promise<boolean> => {
  if (dn === '' || password === '') return false
  try {
    await client.bind(dn, password)
    return true
  } catch (error) {
    if (refusals.some((type) => error instanceof type)) return false
    throw error
  }
}

/** Returns the groups of an entry, and those that have these groups as members; undefined if there are too many. */
const groupsOf = async (
  connection: LdapConnection,
  { options, groupsAttribute }: DirectoryClient,
  entry: Entry,
  login: string,
): Promise<readonly string[] | undefined> => {
  const named = namedGroups(entry, groupsAttribute)
  if (named === undefined || named.length > maxGroups) return undefined
  const found = new Set(named)
  if (options.groupBase === '') return named
  // Without the attribute, or by a rule of the directory, the search begins with the person.
  const isByPerson = groupsAttribute === '' || options.nestedGroups === 'in-chain'
  const self = options.memberAttribute.toLowerCase() === 'memberuid' ? login : entry.dn
  let members: readonly string[] = isByPerson ? [self] : [...found]
  const depth = (options.nestedGroups === 'search' ? maxDepth : 0) + (isByPerson ? 1 : 0)
  for (let step = 0; step < depth && members.length > 0 && found.size <= maxGroups; step += 1) {
    const groups = await search(connection, {
      base: options.groupBase,
      filter: groupsFilter(options, members),
      attributes: ['1.1'],
      pageSize: options.pageSize,
    })
    members = groups.map(({ dn }) => dn).filter((dn) => !found.has(dn))
    for (const dn of members) found.add(dn)
  }
  return found.size > maxGroups ? undefined : [...found]
}

/** Reports whether the directory shows any group, if groups are searched for. */
const showsGroups = async (connection: LdapConnection, { options }: DirectoryClient): Promise<boolean> => {
  if (options.groupBase === '') return true
  const asked = { base: options.groupBase, filter: anyGroupFilter(options), attributes: ['1.1'], atMost: 1 }
  return (await search(connection, asked)).length > 0
}

const readPeople = async (
  connection: LdapConnection,
  of: DirectoryClient,
  subjects: readonly string[],
  now: Date,
): Promise<readonly DirectoryPerson[]> => {
  const { options } = of
  const entries = await search(connection, {
    base: options.userBase,
    filter: subjectsFilter(options, subjects),
    attributes: attributesOf(of),
    pageSize: options.pageSize,
  })
  const hasGroups = entries.length > 0 && (await showsGroups(connection, of))
  const people: DirectoryPerson[] = []
  for (const entry of entries) {
    const person = personOf(entry, of, now)
    const groups = hasGroups ? await groupsOf(connection, of, entry, person.login) : undefined
    people.push({ ...person, groups })
  }
  if (new Set(people.map(({ subject }) => subject)).size < people.length) throw new DirectoryProblem('twice')
  return people
}

/** DirectorySearch by the library ldapts. Each call has a connection of its own, and its turn in a fair queue. */
export const makeLdapDirectorySearch = ({ limiter, clock, ...options }: LdapOptions): DirectorySearch => {
  const connect = makeConnect(options)

  const attempt = async <A>(
    of: DirectoryClient,
    { sourceIp, signal }: DirectoryCall,
    work: (connection: LdapConnection, bind: () => Promise<void>) => Promise<A>,
  ): Outcome<Failure<'ProviderUnavailable'>, A> => {
    const deadline = AbortSignal.timeout(callMilliseconds)
    try {
      // A directory that is slow has no more turns than one caller.
      const asked = { account: sourceIp, named: `directory ${of.address}`, signal }
      return right(await limiter.run(asked, () => connect(of, AbortSignal.any([signal, deadline]), work)))
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof Busy) throw error
      return left(unavailable(error, of.address, deadline.aborted))
    }
  }

  return {
    filterProblem,

    check: (of, call) =>
      attempt(of, call, async (connection, bind) => {
        await bind()
        const { userBase: base, idAttribute } = of.options
        const asked = { base, filter: peopleFilter(of.options), attributes: [idAttribute], atMost: 1 }
        const [entry] = await search(connection, asked)
        if (entry === undefined) throw new DirectoryProblem('people')
        entrySubject(entry, idAttribute)
      }),

    find: (of, login, call) =>
      attempt(of, call, async (connection, bind) => {
        await bind()
        const { userBase: base, idAttribute } = of.options
        const asked = { base, filter: personFilter(of.options, login), attributes: [idAttribute], atMost: 2 }
        const [entry, ...others] = await search(connection, asked)
        if (entry === undefined || others.length > 0) return undefined
        return { dn: entry.dn, subject: entrySubject(entry, idAttribute) }
      }),

    authenticate: (of, { entry, password }, call) =>
      attempt(of, call, async (connection, bind) => {
        const dn = entry?.dn ?? `cn=no such entry,${of.options.userBase}`
        if (!(await isBound(connection, dn, password.reveal())) || entry === undefined) return undefined
        await bind()
        const [person] = await readPeople(connection, of, [entry.subject], clock.now())
        return person?.dn === entry.dn ? person : undefined
      }),

    read: (of, subjects, call) =>
      attempt(of, call, async (connection, bind) => {
        await bind()
        return readPeople(connection, of, subjects, clock.now())
      }),
  }
}
