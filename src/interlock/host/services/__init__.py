"""Services as processes: runs that nobody waits for, and whether one answers; which service is needed is the app's."""
