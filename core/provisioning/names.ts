import { accountNameFrom, maxAccountNameLength } from '../kernel/ids.ts'

/** How many names with a number are tried. */
const maxNumber = 50

/**
 * Yields names for an account of a user of a directory, best first: the user name up to the `@`, then with the name of
 * the organization, then with a number. Which of them are taken or reserved, the caller finds out.
 */
export function* loginCandidates(userName: string, orgName: string): Generator<string> {
  const local = accountNameFrom(userName.split('@')[0] ?? '').toLowerCase()
  const name = local === '' ? 'user' : local
  if (local !== '') yield local
  const org = accountNameFrom(orgName, 15).toLowerCase()
  for (let number = 1; number <= maxNumber; number += 1) {
    const ending = `-${org}${number === 1 ? '' : `-${number}`}`
    yield `${name.slice(0, maxAccountNameLength - ending.length).replace(/[._-]$/, '')}${ending}`
  }
}

/** The most characters of the name of a team that is made for a group. */
const maxTeamName = 100

/** Yields names for the team of a group, best first. Which of them are taken, the caller finds out. */
export function* nameCandidates(displayName: string): Generator<string> {
  const plain = accountNameFrom(displayName, maxTeamName)
  // The word `new` is reserved among teams.
  const name = plain === '' || plain.toLowerCase() === 'new' ? 'group' : plain
  yield name
  for (let number = 2; number <= maxNumber; number += 1) yield `${name}-${number}`
}
