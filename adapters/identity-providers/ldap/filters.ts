import type { Filter } from 'ldapts'
import { AndFilter, EqualityFilter, ExtensibleFilter, FilterParser, NotFilter, OrFilter, PresenceFilter } from 'ldapts'
import type { DirectoryOptions, EntryIdAttribute } from '../../../core/identity-providers/types.ts'
import { idValue } from './entries.ts'

const placeholder = '%s'
/** LDAP_MATCHING_RULE_IN_CHAIN of Active Directory: members of members too. */
const inChain = '1.2.840.113556.1.4.1941'

/** Returns the filter with each value `%s` replaced. Values are no text of a filter, so that they cannot change it. */
const replaced = (filter: Filter, by: (attribute: string) => Filter): Filter => {
  if (filter instanceof AndFilter) return new AndFilter({ filters: filter.filters.map((each) => replaced(each, by)) })
  if (filter instanceof OrFilter) return new OrFilter({ filters: filter.filters.map((each) => replaced(each, by)) })
  if (filter instanceof NotFilter) return new NotFilter({ filter: replaced(filter.filter, by) })
  return filter instanceof EqualityFilter && filter.value === placeholder ? by(filter.attribute) : filter
}

const present = (attribute: string): Filter => new PresenceFilter({ attribute })

/** Returns what is wrong with a filter. */
export const filterProblem = (text: string, hasName: boolean): string | undefined => {
  let filter
  try {
    filter = FilterParser.parseString(text)
  } catch {
    return 'must be a filter (RFC 4515), as in (objectClass=person).'
  }
  const rest = hasName ? replaced(filter, present) : filter
  return rest.toString().includes(placeholder) ? 'can have %s as a whole value only, as in (uid=%s).' : undefined
}

/** The filter of all people. */
export const peopleFilter = ({ userFilter }: DirectoryOptions): Filter =>
  replaced(FilterParser.parseString(userFilter), present)

/** The filter of the person with a name. */
export const personFilter = ({ userFilter, loginAttribute }: DirectoryOptions, name: string): Filter => {
  const equal = (attribute: string): Filter => new EqualityFilter({ attribute, value: name })
  const filter = FilterParser.parseString(userFilter)
  if (userFilter.includes(placeholder)) return replaced(filter, equal)
  return new AndFilter({ filters: [filter, equal(loginAttribute)] })
}

/** The filter of the people with these subjects. */
export const subjectsFilter = (options: DirectoryOptions, subjects: readonly string[]): Filter => {
  const attribute: EntryIdAttribute = options.idAttribute
  const equal = subjects.map((subject) => new EqualityFilter({ attribute, value: idValue(attribute, subject) }))
  return new AndFilter({ filters: [peopleFilter(options), new OrFilter({ filters: equal })] })
}

/** The filter of all groups. */
export const anyGroupFilter = ({ groupFilter }: DirectoryOptions): Filter => FilterParser.parseString(groupFilter)

/** The filter of the groups that have one of the members. */
export const groupsFilter = (options: DirectoryOptions, members: readonly string[]): Filter => {
  const { memberAttribute, nestedGroups } = options
  const has = (value: string): Filter =>
    nestedGroups === 'in-chain'
      ? new ExtensibleFilter({ matchType: memberAttribute, rule: inChain, value })
      : new EqualityFilter({ attribute: memberAttribute, value })
  return new AndFilter({ filters: [anyGroupFilter(options), new OrFilter({ filters: members.map(has) })] })
}
