/** The variables of the environment of a process. */
export type Environment = Readonly<Record<string, string | undefined>>
