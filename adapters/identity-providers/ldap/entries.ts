import type { Entry } from 'ldapts'
import type { DirectoryClient, DirectoryPerson, EntryIdAttribute } from '../../../core/identity-providers/types.ts'
import { DirectoryProblem } from './problems.ts'

/** Of a DN, which may come from the directory. */
const maxDn = 1_000

/** Returns the values of an attribute; its name is compared without case. */
const valuesOf = (entry: Entry, attribute: string): readonly (string | Buffer)[] => {
  const key = Object.keys(entry).find((name) => name.toLowerCase() === attribute.toLowerCase())
  const found = key === undefined ? [] : entry[key]
  return found === undefined ? [] : Array.isArray(found) ? found : [found]
}

const textsOf = (entry: Entry, attribute: string): readonly string[] =>
  attribute === '' ? [] : valuesOf(entry, attribute).map((value) => value.toString())

const textOf = (entry: Entry, attribute: string): string => textsOf(entry, attribute)[0] ?? ''

/** Active Directory writes the first three numbers of a GUID with their lowest byte first ([MS-DTYP] §2.3.4.2). */
const swapped = (bytes: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(bytes.subarray(0, 4)).reverse(),
    Buffer.from(bytes.subarray(4, 6)).reverse(),
    Buffer.from(bytes.subarray(6, 8)).reverse(),
    bytes.subarray(8),
  ])

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** 389 Directory Server writes four groups of eight digits. */
const uniqueId = /^[0-9a-f]{8}(?:-[0-9a-f]{8}){3}$/

/** Returns the value with which an entry is searched for by its subject. */
export const idValue = (attribute: EntryIdAttribute, subject: string): Buffer | string =>
  attribute === 'objectGUID' ? swapped(Buffer.from(subject.replaceAll('-', ''), 'hex')) : subject

/** Returns the subject that a value of the attribute stands for; undefined if it has another form. @internal */
export const subjectOf = (attribute: EntryIdAttribute, value: string | Buffer): string | undefined => {
  if (attribute !== 'objectGUID') {
    const text = value.toString().toLowerCase()
    return (attribute === 'entryUUID' ? uuid : uniqueId).test(text) ? text : undefined
  }
  if (typeof value === 'string' || value.length !== 16) return undefined
  return swapped(value)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Returns the subject of an entry. Throws DirectoryProblem if it has none, or several. */
export const entrySubject = (entry: Entry, attribute: EntryIdAttribute): string => {
  const [value, ...others] = valuesOf(entry, attribute)
  const subject = value === undefined || others.length > 0 ? undefined : subjectOf(attribute, value)
  if (subject === undefined || entry.dn === '' || entry.dn.length > maxDn) throw new DirectoryProblem('id')
  return subject
}

const disabledFlag = 0x2
/** pwdAccountLockedTime of an entry that an administrator has locked; other times are locks after wrong passwords. */
const lockedForever = '000001010000Z'

/** Active Directory counts 100 ns from the year 1601. Zero, and the greatest number, stand for never. */
const ticksPerMillisecond = 10_000n
const epochTicks = 116_444_736_000_000_000n
const neverTicks = 9_223_372_036_854_775_807n

const hasExpired = (entry: Entry, now: Date): boolean => {
  const text = textOf(entry, 'accountExpires')
  const ticks = /^\d{1,19}$/.test(text) ? BigInt(text) : 0n
  if (ticks === 0n || ticks >= neverTicks) return false
  return (ticks - epochTicks) / ticksPerMillisecond <= BigInt(now.getTime())
}

/** Reports whether the directory itself lets the person sign in nowhere. @internal */
export const isDisabled = (entry: Entry, now: Date): boolean =>
  hasExpired(entry, now) ||
  (Number(textOf(entry, 'userAccountControl')) & disabledFlag) !== 0 ||
  textOf(entry, 'nsAccountLock').toLowerCase() === 'true' ||
  textOf(entry, 'pwdAccountLockedTime') === lockedForever

/** Returns the attributes that are read of a person. */
export const attributesOf = ({ options, groupsAttribute }: DirectoryClient): string[] => [
  options.idAttribute,
  ...[
    options.loginAttribute,
    options.mailAttribute,
    options.nameAttribute,
    options.surnameAttribute,
    groupsAttribute,
  ].filter((name) => name !== ''),
  'userAccountControl',
  'accountExpires',
  'nsAccountLock',
  'pwdAccountLockedTime',
]

/**
 * Returns the DNs of groups that an entry names; undefined if there are more than the directory returns at once, as
 * Active Directory says by a range.
 */
export const namedGroups = (entry: Entry, attribute: string): readonly string[] | undefined => {
  const range = `${attribute};range=`.toLowerCase()
  if (attribute !== '' && Object.keys(entry).some((name) => name.toLowerCase().startsWith(range))) return undefined
  return textsOf(entry, attribute).filter((dn) => dn.length <= maxDn)
}

export const personOf = (entry: Entry, { options }: DirectoryClient, now: Date): Omit<DirectoryPerson, 'groups'> => ({
  dn: entry.dn,
  subject: entrySubject(entry, options.idAttribute),
  login: textOf(entry, options.loginAttribute),
  email: textOf(entry, options.mailAttribute),
  fullName: [textOf(entry, options.nameAttribute), textOf(entry, options.surnameAttribute)]
    .filter((name) => name !== '')
    .join(' '),
  isDisabled: isDisabled(entry, now),
})
