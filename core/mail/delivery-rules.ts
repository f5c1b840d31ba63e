/** An attempt that has not ended by then counts as dead. A mailer ends its attempts well before. */
export const mailLeaseSeconds = 120

const firstWaitSeconds = 60
const longestWaitSeconds = 6 * 3600
const giveUpSeconds = 3 * 24 * 3600

/** How long to wait after the nth attempt failed: a minute, doubled each time, at most six hours. */
export const backoffSeconds = (attempts: number): number => Math.min(longestWaitSeconds, firstWaitSeconds * 2 ** Math.max(0, attempts - 1))

/** Whether a mail that failed once more is given up. */
export const isTooOld = (createdAt: Date, now: Date): boolean => now.getTime() - createdAt.getTime() >= giveUpSeconds * 1000
