"""Browser profiles: one per task and role, from a golden one; starting a browser is the task's own business."""
