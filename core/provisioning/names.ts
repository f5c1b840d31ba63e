import { maxAccountNameLength } from '../kernel/ids.ts'

/** How many names with a number are tried. */
const maxNumber = 50

const slug = (text: string, maxLength: number): string =>
  text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^0-9A-Za-z]+/g, '-')
    .slice(0, maxLength)
    .replaceAll(/^-+|-+$/g, '')

/**
 * Yields names for an account of a user of a directory, best first: the user name up to the `@`, then with the name of
 * the organization, then with a number. Which of them are taken or reserved, the caller finds out.
 */
export function* loginCandidates(userName: string, orgName: string): Generator<string> {
  const local = slug(userName.split('@')[0] ?? '', maxAccountNameLength).toLowerCase()
  const name = local === '' ? 'user' : local
  if (local !== '') yield local
  const org = slug(orgName, 15).toLowerCase()
  for (let number = 1; number <= maxNumber; number += 1) {
    const ending = `-${org}${number === 1 ? '' : `-${number}`}`
    yield `${name.slice(0, maxAccountNameLength - ending.length).replace(/-+$/, '')}${ending}`
  }
}

/** The most characters of the name of a team that is made for a group. */
const maxTeamName = 100

/** Yields names for the team of a group, best first. Which of them are taken, the caller finds out. */
export function* nameCandidates(displayName: string): Generator<string> {
  const plain = slug(displayName, maxTeamName)
  // The word `new` is reserved among teams.
  const name = plain === '' || plain.toLowerCase() === 'new' ? 'group' : plain
  yield name
  for (let number = 2; number <= maxNumber; number += 1) yield `${name}-${number}`
}
