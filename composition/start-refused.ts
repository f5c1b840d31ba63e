/** The service does not start, for reasons that its operator can act on. Each reason is one sentence. */
export class StartRefused extends Error {
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'StartRefused'
    this.problems = problems
  }
}
