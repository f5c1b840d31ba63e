import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { parseAccountName } from '../../kernel/ids.ts'
import type { Failure } from '../../kernel/failure.ts'
import { OrganizationNameRefused, TeamNameRefused } from '../failures.ts'
import { teamNameKey } from '../types.ts'

export const ownersTeamName = 'Owners'
const maxTeamNameLength = 255
/** Matching takes linear time. */
const teamNamePattern = /^[0-9A-Za-z][-.\w]*$/

const reservedTeamNames: ReadonlySet<string> = new Set(['new'])

export const parseOrganizationName = (text: string): Either<Failure<'OrganizationNameRefused'>, string> => {
  const name = parseAccountName(text)
  return name._tag === 'Left' ? left(OrganizationNameRefused(name.left.message)) : right(name.right)
}

/**
 * Parses a team's name. `Owners` exists in every organization, so the store refuses it; `new` is a word of the
 * console's routes.
 */
export const parseTeamName = (text: string): Either<Failure<'TeamNameRefused'>, string> => {
  if (text.length > maxTeamNameLength || !teamNamePattern.test(text)) {
    return left(
      TeamNameRefused(`A team name has 1 to ${maxTeamNameLength} letters, digits, "-", "_" or ".", a letter or digit first.`),
    )
  }
  return reservedTeamNames.has(teamNameKey(text)) ? left(TeamNameRefused(`The team name "${text}" is reserved.`)) : right(text)
}
