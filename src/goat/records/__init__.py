"""Frozen records that cross the seams. They hold data and no behaviour beyond small derived values."""
