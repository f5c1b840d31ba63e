import type { DirectoryOptions, EntryIdAttribute, Provider } from '../types.ts'

/** What a request says of a directory. An absent field is unchanged, or has its default in a new provider. */
export type DirectoryForm = {
  readonly [K in keyof DirectoryOptions]?: DirectoryOptions[K] extends string
    ? string | undefined
    : DirectoryOptions[K] | undefined
}

const entryIdAttributes: readonly EntryIdAttribute[] = ['entryUUID', 'objectGUID', 'nsUniqueId']
const nestings: readonly DirectoryOptions['nestedGroups'][] = ['none', 'search', 'in-chain']

const maxAuthorities = 20_000
const maxDn = 500
const maxFilter = 1_000
/** A server refuses larger pages than its own limit: 500 of slapd, 1,000 of Active Directory. */
const pageSizes = [10, 500] as const

const defaults: DirectoryOptions = {
  usesStartTls: true,
  authorities: '',
  userBase: '',
  userFilter: '(objectClass=person)',
  idAttribute: 'entryUUID',
  loginAttribute: 'uid',
  mailAttribute: 'mail',
  nameAttribute: 'cn',
  surnameAttribute: '',
  trustsMail: false,
  groupBase: '',
  groupFilter: '(|(objectClass=groupOfNames)(objectClass=group))',
  memberAttribute: 'member',
  nestedGroups: 'none',
  pageSize: 100,
}

/** RFC 4512 §1.4: a short name, or the numbers of an OID. */
const attributeName = /^(?:[A-Za-z][A-Za-z0-9-]{0,63}|[0-9](?:[0-9.]{0,62}[0-9])?)$/
const control = /\p{Cc}/u
const certificates = /^(?:\s*-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*)+$/

/** Reports whether a text is the address of a directory: a scheme, a host and at most a port. */
export const isDirectoryAddress = (text: string): boolean => {
  if (text.length > 512 || !/^ldaps?:\/\/[^/?#@\s]+$/i.test(text) || !URL.canParse(text)) return false
  const { hostname, port } = new URL(text.replace(/^ldap/i, 'http'))
  return hostname !== '' && port !== '0'
}

/**
 * Returns the issuer of the people of a directory: its host. The port and the encryption may change, but the server of
 * another host is another directory: an owner who enters its address must not become the people of this one.
 */
export const directoryIssuer = (address: string): string =>
  `ldap://${new URL(address.replace(/^ldaps?/i, 'http')).hostname.toLowerCase()}`

/** Reports whether what is sent to the server would reach another one, or be less protected. */
export const isOtherChannel = (
  before: Pick<Provider, 'issuer' | 'directory'>,
  after: Pick<Provider, 'issuer' | 'directory'>,
): boolean =>
  before.issuer !== after.issuer ||
  before.directory?.usesStartTls !== after.directory?.usesStartTls ||
  before.directory?.authorities !== after.directory?.authorities

/** Returns the options of a directory, on top of those before. */
export const directoryOf = (form: DirectoryForm, before: DirectoryOptions | undefined): DirectoryOptions => {
  const sent = Object.fromEntries(Object.entries(form).filter(([, value]) => value !== undefined))
  return { ...(before ?? defaults), ...sent }
}

type FilterProblem = (filter: string, hasName: boolean) => string | undefined

type Problem = readonly [isWrong: boolean, sentence: string]

/** Returns what is wrong with the options of a directory. It repeats nothing that was sent. */
export const directoryProblems = (options: DirectoryOptions, filterProblem: FilterProblem): readonly string[] => {
  const isDn = (text: string): boolean => text.length <= maxDn && !control.test(text)
  const ofFilter = (name: string, filter: string, hasName: boolean): readonly Problem[] => {
    const problem =
      filter.length > maxFilter ? `must be at most ${maxFilter} characters.` : filterProblem(filter, hasName)
    return problem === undefined ? [] : [[true, `${name}: ${problem}`]]
  }
  const attributes = (['loginAttribute', 'mailAttribute', 'nameAttribute', 'memberAttribute'] as const).map(
    (name): Problem => [
      !attributeName.test(options[name]),
      `${name.replace('Attribute', '')}_attribute: must be the name of an attribute.`,
    ],
  )
  const [least, most] = pageSizes
  const problems: readonly Problem[] = [
    [options.userBase === '' || !isDn(options.userBase), 'user_base: must be the DN below which people are.'],
    [!isDn(options.groupBase), `group_base: must be a DN of at most ${maxDn} characters.`],
    [
      options.authorities.length > maxAuthorities ||
        (options.authorities !== '' && !certificates.test(options.authorities)),
      `authorities: must be certificates in PEM, at most ${maxAuthorities} characters.`,
    ],
    [!entryIdAttributes.includes(options.idAttribute), `id_attribute: must be one of ${entryIdAttributes.join(', ')}.`],
    [!nestings.includes(options.nestedGroups), `nested_groups: must be one of ${nestings.join(', ')}.`],
    [
      options.surnameAttribute !== '' && !attributeName.test(options.surnameAttribute),
      'surname_attribute: must be the name of an attribute, or empty.',
    ],
    [
      options.nestedGroups !== 'none' && options.groupBase === '',
      'group_base: is required to find the groups of groups.',
    ],
    [options.pageSize < least || options.pageSize > most, `page_size: must be from ${least} to ${most}.`],
    ...attributes,
    ...ofFilter('user_filter', options.userFilter, true),
    ...ofFilter('group_filter', options.groupFilter, false),
  ]
  return problems.filter(([isWrong]) => isWrong).map(([, sentence]) => sentence)
}
