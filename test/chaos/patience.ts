/**
 * How long a run may take: several times what it does on a machine of its own, and less than a test has. Where others work
 * as well, who gives up sooner finds fault with the machine.
 */
export const PATIENCE = 300_000
