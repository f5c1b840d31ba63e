/** One object of the list; about 300 bytes of JSON. */
export interface SampleUser {
  readonly id: number
  readonly login: string
  readonly full_name: string
  readonly email: string
  readonly website: string
  readonly description: string
  readonly created: string
  readonly active: boolean
  readonly followers_count: number
}

/** The fifty objects that both sides of row 9 answer. */
export const sampleUsers: readonly SampleUser[] = Array.from({ length: 50 }, (_, index) => ({
  id: index + 1,
  login: `bench-user-${index}`,
  full_name: `Ada Augusta King ${index}`,
  email: `bench-user-${index}@example.org`,
  website: `https://people.example.org/~bench-user-${index}`,
  description: 'Keeps the clusters of three regions up to date and asks for the reason before changing anything.',
  created: '2026-11-21T08:00:00.000Z',
  active: index % 3 !== 0,
  followers_count: index * 7,
}))
