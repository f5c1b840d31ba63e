import type { PartMigrations } from '../kit/migration.ts'

const partName = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/
const what = '[a-z0-9]+(?:-[a-z0-9]+)*'
/** The width of the column that holds the id. */
const longestId = 64

/** Returns what is wrong with the declarations, one sentence for each fault. */
export const declarationFaults = (
  own: readonly PartMigrations[],
  outside: readonly PartMigrations[],
): readonly string[] => {
  const all = [...own, ...outside]
  return [
    ...all.flatMap(({ part }) => (partName.test(part) ? [] : [`"${part}" is not a name of a part: ${form}`])),
    ...repeated(all.map(({ part }) => part)).map((part) => `Two parts have the name ${part}.`),
    ...own.flatMap((part) => missingNeeds(part, own)),
    ...outside.flatMap((part) => missingNeeds(part, all)),
    ...circles(all),
    ...own.flatMap((part) => idFaults(part, ownId)),
    ...outside.flatMap((part) => idFaults(part, outsideId)),
    ...outside.flatMap(({ migrations }) => phaseFaults(migrations)),
    ...repeated(all.flatMap(({ migrations }) => ids(migrations))).map((id) => `Two migrations have the id ${id}.`),
    ...repeatedNumbers(own.flatMap(({ migrations }) => ids(migrations))),
  ]
}

/** Instances tell which of our migrations they know, and nothing of other parts: no step could wait for them. */
const phaseFaults = (migrations: PartMigrations['migrations']): readonly string[] =>
  migrations
    .filter(({ phase }) => phase !== undefined)
    .map(({ id }) => `The migration ${id} must not declare a phase: that is for the parts of the service.`)

const form = 'it has lower-case letters, digits and single hyphens, and begins with a letter.'

const ids = (migrations: readonly { readonly id: string }[]): readonly string[] => migrations.map(({ id }) => id)

const repeated = (names: readonly string[]): readonly string[] => [
  ...new Set(names.filter((name, index) => names.indexOf(name) !== index)),
]

const missingNeeds = ({ part, needs }: PartMigrations, present: readonly PartMigrations[]): readonly string[] =>
  needs
    .filter((need) => !present.some((other) => other.part === need))
    .map((need) => `The part ${part} needs the part ${need}, which does not exist.`)

interface IdForm {
  readonly example: string
  readonly pattern: RegExp
}

const ownId = (part: string): IdForm => ({
  example: `0001-${part}-what`,
  pattern: new RegExp(`^\\d{4}-${part}(?:-${what})?$`),
})

const outsideId = (part: string): IdForm => ({
  example: `${part}/0001-what`,
  pattern: new RegExp(`^${part}/\\d{4}-${what}$`),
})

const idFaults = ({ part, migrations }: PartMigrations, idOf: (part: string) => IdForm): readonly string[] => {
  if (!partName.test(part)) return []
  const { example, pattern } = idOf(part)
  const all = ids(migrations)
  return [
    ...all
      .filter((id) => !pattern.test(id) || id.length > longestId)
      .map((id) => `The migration ${id} must have an id such as ${example}, with at most ${longestId} characters.`),
    ...all
      .filter((id, index) => index > 0 && id < (all[index - 1] ?? ''))
      .map((id) => `The migration ${id} must stand before ${all[all.indexOf(id) - 1]}.`),
  ]
}

const repeatedNumbers = (of: readonly string[]): readonly string[] => {
  const distinct = [...new Set(of)]
  return repeated(distinct.map((id) => id.slice(0, 4))).map(
    (number) => `The migrations ${distinct.filter((id) => id.startsWith(number)).join(' and ')} have the same number.`,
  )
}

/** One sentence for each circle of needs. */
const circles = (all: readonly PartMigrations[]): readonly string[] => {
  const needsOf = new Map(all.map(({ part, needs }) => [part, needs]))
  const done = new Set<string>()
  const found: string[] = []
  const visit = (part: string, path: readonly string[]): void => {
    const start = path.indexOf(part)
    if (start >= 0) {
      const circle = [...path.slice(start), part]
      found.push(`Parts need each other in a circle: ${circle.join(' needs ')}.`)
      return
    }
    if (done.has(part)) return
    for (const need of needsOf.get(part) ?? []) visit(need, [...path, part])
    done.add(part)
  }
  for (const { part } of all) visit(part, [])
  return found
}

/** Returns the parts so that each stands after those that it needs; where needs do not decide, by name. */
export const afterNeeds = (parts: readonly PartMigrations[]): readonly PartMigrations[] => {
  const waiting = parts.toSorted((a, b) => (a.part < b.part ? -1 : a.part > b.part ? 1 : 0))
  const ordered: PartMigrations[] = []
  while (waiting.length > 0) {
    const isWaitedFor = (need: string): boolean => waiting.some(({ part }) => part === need)
    const next = waiting.findIndex(({ needs }) => !needs.some(isWaitedFor))
    // A circle, which is a fault of its own: any order will do.
    ordered.push(...waiting.splice(Math.max(next, 0), 1))
  }
  return ordered
}

/** Returns the parts that a part needs, and those that these need. */
export const allNeeds = (part: PartMigrations, all: readonly PartMigrations[]): ReadonlySet<string> => {
  const found = new Set<string>()
  const visit = (needs: readonly string[]): void => {
    for (const need of needs) {
      if (found.has(need)) continue
      found.add(need)
      visit(all.find((other) => other.part === need)?.needs ?? [])
    }
  }
  visit(part.needs)
  return found
}
